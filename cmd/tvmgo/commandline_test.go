package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/version"
)

const (
	artifacts = "../../testdata/artifacts"
	multiC    = artifacts + "/modern/multi_c.so"
)

// cli runs a command line in this process.
func cli(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = execute(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// buildTags are the build tags of this test program, and of the program that it builds.
const buildTags = cudaTag + "," + openclTag

// buildDir is the folder of the program that buildOnce built; "" until then.
var buildDir string

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tvmgo-test")
	if err != nil {
		return "", err
	}
	buildDir = dir
	path := filepath.Join(dir, "tvmgo")
	out, err := exec.Command("go", "build", "-tags", buildTags, "-o", path, ".").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return path, err
})

// childCommands are the hidden commands that run in this test program, too.
var childCommands []string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains(childCommands, os.Args[1]) {
		main() // a command started this test program as a child process
	}
	status := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(status)
}

// built runs a command line in a separate process, in a folder.
func built(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return builtWith(t, dir, nil, args...)
}

// builtWith adds variables to the environment.
func builtWith(t *testing.T, dir string, env []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	path := must.Get(buildOnce())(t)
	var out, errs bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &out, &errs, append(os.Environ(), env...)
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestInspect(t *testing.T) {
	file := filepath.Join(artifacts, "modern/gpu_opencl.so")
	status, stdout, stderr := cli("inspect", file)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "matmul_kernel(handle, handle, handle) blockIdx.y")

	status, stdout, stderr = built(t, ".", "inspect", "--json", file)
	require.Zero(t, status, stderr)
	var report map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, "modern", report["generation"])

	status, _, stderr = cli("inspect", "none.so")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: inspect none.so: no such file: check the path\n", stderr)
}

// A damaged file is shown as far as it can be read, and the command fails.
func TestInspect_Problem(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(artifacts, "classic/gpu_opencl.so")))(t)
	path := filepath.Join(t.TempDir(), "x.so")
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(data, []byte("opencl"), []byte("opencx")), 0o644))
	status, stdout, stderr := cli("inspect", path)
	require.Equal(t, 1, status)
	require.Contains(t, stdout, "matmul")
	require.Contains(t, stderr, "opencx")
}

func TestVersion(t *testing.T) {
	status, stdout, _ := built(t, ".", "version")
	require.Zero(t, status)
	require.True(t, strings.HasPrefix(stdout, "tvmgo "+version.Number()), stdout)
	require.Contains(t, stdout, "classic ABI 0.18.0, tvm-ffi ABI 0.1.16, DLPack 1.")
	status, stdout, _ = cli("version", "--json")
	require.Zero(t, status)
	var v versionInfo
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	require.Equal(t, "0.1.16", v.ABI.TVMFFI)
	require.Equal(t, version.Number(), v.Version)
	status, stdout, _ = cli("--version")
	require.Zero(t, status)
	require.Equal(t, "tvmgo "+version.Number()+"\n", stdout)
	require.NotEmpty(t, v.Go)
}

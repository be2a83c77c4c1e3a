//go:build cgo

package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// withoutCgo builds the program without cgo, and returns a function that runs its command lines.
func withoutCgo(t *testing.T) func(args ...string) (status int, stdout, stderr string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tvmgo")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	image := must.Open(elf.Open(program))(t)
	require.Empty(t, must.Get(image.ImportedLibraries())(t))
	require.Nil(t, image.Section(".interp"), "it is static")
	return func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		cmd := exec.Command(program, args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			require.IsType(t, &exec.ExitError{}, err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
}

// Without cgo, the commands that read files print what they print with it, and the other commands are errors that say
// what to do.
func TestWithoutCgo(t *testing.T) {
	run := withoutCgo(t)
	same := func(args ...string) {
		t.Helper()
		status, stdout, stderr := cli(args...)
		gotStatus, gotStdout, gotStderr := run(args...)
		require.Equal(t, stdout, gotStdout, args)
		require.Equal(t, stderr, gotStderr, args)
		require.Equal(t, status, gotStatus, args)
	}
	var files []string
	for _, pattern := range []string{"classic/*.so", "modern/*.so", "modern/*.params", "*_in0.npy"} {
		files = append(files, must.Get(filepath.Glob(filepath.Join(artifacts, pattern)))(t)...)
	}
	require.Greater(t, len(files), 15)
	damaged := filepath.Join(t.TempDir(), "damaged.so")
	data := must.Get(os.ReadFile(filepath.Join(artifacts, "classic/gpu_opencl.so")))(t)
	require.NoError(t, os.WriteFile(damaged, bytes.ReplaceAll(data, []byte("opencl"), []byte("opencx")), 0o600))
	files = append(files, damaged, "none.so", t.TempDir())
	for i, file := range files {
		same("inspect", file)
		same("inspect", "--json", "--instructions", file)
		same("diff", file, files[(i+1)%len(files)])
		same("diff", "--json", file, file)
		to := filepath.Join(t.TempDir(), "to")
		status, stdout, stderr := cli("unpack", file, to)
		tree := contents(t, to)
		require.NoError(t, os.RemoveAll(to))
		gotStatus, gotStdout, gotStderr := run("unpack", file, to)
		require.Equal(t, []any{status, stdout, stderr, tree}, []any{gotStatus, gotStdout, gotStderr, contents(t, to)})
	}
	for _, line := range []string{"list", "list cuda", "list --json", "list nothing", "tags", "tags nvidia --json",
		"tags --key mali", "show cuda", "show nvidia/h100 --host llvm", "show --json llvm", "show /none",
		"check cuda", "check --json cudo", "schema", "schema llvm", "shaw"} {
		same(append([]string{"target"}, strings.Fields(line)...)...)
	}
	same("version", "--json", "x")
	same("target", "--help")
	same("inspect", "--help")
	same("inspect")
	same("unpack", "x")
	same("diff", "--no-flag")
	same("help", "sign")

	_, help, _ := run("--help")
	for _, c := range newRootCommand(nil, nil).Commands() {
		lacking := slices.Contains(slices.Concat(modules.names, compilers.names), c.Name())
		if c.Hidden {
			continue
		}
		require.Equal(t, !lacking, strings.Contains(help, "\n  "+c.Name()+" "), c.Name())
		if !lacking {
			same("help", c.Name())
			continue
		}
		status, stdout, stderr := run(c.Name(), "--what", "x")
		require.Equal(t, statusFailure, status)
		require.Empty(t, stdout)
		require.Equal(t, "tvmgo: "+c.Name()+": "+withoutC+"\n", stderr)
	}
	status, stdout, stderr := run("inspect", "--load", files[0])
	require.Equal(t, statusFailure, status)
	require.Empty(t, stdout)
	require.Equal(t, "tvmgo: inspect --load: "+withoutC+"\n", stderr)
	testSigningWithoutCgo(t, run)
}

// testSigningWithoutCgo makes a key and signs a file with the program, and checks the signature in this process.
func testSigningWithoutCgo(t *testing.T, run func(args ...string) (int, string, string)) {
	t.Helper()
	dir := t.TempDir()
	key, file := filepath.Join(dir, "release"), filepath.Join(dir, "x.so")
	require.NoError(t, os.WriteFile(file, []byte("content"), 0o600))
	for _, line := range [][]string{{"--generate", key, "--no-password"}, {file, "--key", key + ".key"}} {
		status, _, stderr := run(append([]string{"sign"}, line...)...)
		require.Zero(t, status, stderr)
	}
	require.EqualValues(t, 0o600, must.Get(os.Stat(key+".key"))(t).Mode().Perm())
	check := []string{"sign", "--verify", file, "--trusted-keys", key + ".pub"}
	for _, content := range []string{"content", "changed"} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		status, stdout, stderr := cli(check...)
		gotStatus, gotStdout, gotStderr := run(check...)
		require.Equal(t, []any{status, stdout, stderr}, []any{gotStatus, gotStdout, gotStderr})
		require.Equal(t, content == "content", status == 0)
	}
}

// contents returns the files of a folder by their names; nil if there is none.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
		return nil
	}
	files := map[string]string{}
	for _, e := range entries {
		files[e.Name()] = string(must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t))
	}
	return files
}

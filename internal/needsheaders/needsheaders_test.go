package needsheaders_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	include "tvmgo/build/include"
)

// build compiles this package alone, for one tag, with headers of a folder and further flags.
func build(t *testing.T, tag, headers, flags string) (string, error) {
	cmd := exec.Command("go", "build", "-tags", tag, "tvmgo/internal/needsheaders")
	cmd.Env = append(os.Environ(), "CGO_CFLAGS=-I"+headers+flags, "C_INCLUDE_PATH=", "CPATH=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestBuild(t *testing.T) {
	ours, foreign := t.TempDir(), t.TempDir()
	require.NoError(t, os.CopyFS(ours, include.Files))
	for _, tag := range []string{"opencl", "cuda"} {
		out, err := build(t, tag, ours, " -fsigned-char")
		require.NoError(t, err, out)
	}
	require.NoError(t, os.Mkdir(filepath.Join(foreign, "CL"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "CL", "opencl.h"), []byte("typedef int cl_int;\n"), 0o644))
	out, err := build(t, "opencl", foreign, " -fsigned-char")
	require.Error(t, err)
	require.Contains(t, out, "tag opencl needs the headers of tvmgo")
	require.Contains(t, out, "go run tvmgo/build/env -- build -tags opencl")
	out, err = build(t, "opencl", ours, " -funsigned-char")
	require.Error(t, err)
	require.Contains(t, out, "tag opencl needs -fsigned-char on this machine: go run tvmgo/build/env")
}

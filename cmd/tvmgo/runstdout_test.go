//go:build cgo

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// stdoutCases are command lines of run whose results go to standard output.
func stdoutCases(t *testing.T) map[string][]string {
	in := artifacts + "/modern/relax_mlp_in0.npy"
	c := cases()[0]
	kernel := append([]string{"run", artifacts + "/" + c.file, c.function}, inputsOf(t, c.function)...)
	return map[string][]string{
		"model":  {"run", relaxMLP, "--params", artifacts + "/modern/relax_mlp.params", "--in", in},
		"graph":  {"run", graphMLP, "--in", artifacts + "/classic/graph_mlp_in0.npy", "--repeat", "3"},
		"kernel": kernel,
	}
}

// A full disk under standard output is an error, and the files are written.
func TestRun_FullStandardOutput(t *testing.T) {
	machine.Need(t, multiC)
	path := must.Get(buildOnce())(t)
	for name, args := range stdoutCases(t) {
		full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
		out := filepath.Join(t.TempDir(), "y.npy")
		args = append(args, "--out", out)
		if name == "kernel" {
			args = append(args, "--like", cases()[0].like)
		}
		cmd := exec.Command(path, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		require.Error(t, cmd.Run(), name)
		full.Close()
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s: %s", name, stderr.String())
		require.Equal(t, "tvmgo: write /dev/stdout: no space left on device\n", stderr.String(), name)
		require.FileExists(t, out, name)
	}
}

// A reader that has read enough, as head, ends the command without a message, and with the status that shells give it.
func TestRun_ClosedPipe(t *testing.T) {
	machine.Need(t, multiC)
	path := must.Get(buildOnce())(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	cmd := exec.Command(path, stdoutCases(t)["model"]...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, 141, cmd.ProcessState.ExitCode(), stderr.String())
	require.Empty(t, stderr.String())
}

// Standard output has the messages of run: "-" is no name of a file.
func TestRun_OutToStandardOutput(t *testing.T) {
	machine.Need(t, multiC)
	for _, flag := range []string{"--out", "--profile"} {
		for name, args := range stdoutCases(t) {
			if args = append(args, flag, "-"); name == "kernel" {
				if flag == "--profile" {
					continue // an error of its own
				}
				args = append(args, "--like", cases()[0].like)
			}
			status, stdout, stderr := cli(args...)
			require.Equal(t, 1, status, "%s %s: %s", name, flag, stderr)
			require.Empty(t, stdout)
			require.Equal(t, "tvmgo: write -: standard output is for messages: name a file (./- for one of this name)\n", stderr)
			require.NoFileExists(t, "-", "in the folder of the tests")
		}
	}
}

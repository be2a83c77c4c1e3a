package daemon_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
)

var quiet = slog.New(slog.DiscardHandler)

// start serves models on free ports of this machine.
func start(t testing.TB, c daemon.Config, o serve.Options) *daemon.Daemon {
	t.Helper()
	o.Logger = quiet
	c.Logger = o.Logger
	s := must.Get(serve.New(t.Context(), o))(t)
	d, err := daemon.Start(s, c)
	if err != nil {
		require.NoError(t, s.Shutdown(context.Background()))
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Stop()) })
	return d
}

// TestTriton asks a server as the Python client of NVIDIA's Triton does.
func TestTriton(t *testing.T) {
	wheels := wheelsOf(t, "triton")
	askByPython(t, wheels, "testdata/triton.py")
}

// TestKServe asks a server as the Python client of KServe does.
func TestKServe(t *testing.T) {
	wheels := wheelsOf(t, "kserve")
	askByPython(t, wheels+":"+wheelsOf(t, "triton"), "testdata/kserve.py", wheels) // gRPC's wheel is there
}

// wheelsOf returns a folder of wheels that build/scripts/deps.sh installs.
func wheelsOf(t *testing.T, name string) string {
	t.Helper()
	wheels := filepath.Join(must.Get(filepath.Abs("../.."))(t), "build/.cache", name)
	if _, err := os.Stat(filepath.Join(wheels, "version")); err != nil {
		if os.Getenv("CI") != "" {
			require.NoError(t, err)
		}
		t.Skipf("%v: run build/scripts/deps.sh", err)
	}
	return wheels
}

// askByPython runs a script with the addresses of a server, which it appends to the arguments.
func askByPython(t *testing.T, path string, args ...string) {
	t.Helper()
	d := start(t, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0"}, serve.Options{
		Models: []string{servetest.Copies(t)}})
	python := filepath.Join(must.Get(filepath.Abs("../.."))(t), "build/.cache/venv/bin/python")
	cmd := exec.CommandContext(t.Context(), python, append(args, d.HTTP.String(), d.GRPC.String())...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `(?m)^[0-9]+ checks passed$`, string(out))
	t.Logf("%s", out)
}

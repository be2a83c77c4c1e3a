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
	root := must.Get(filepath.Abs("../.."))(t)
	wheels := filepath.Join(root, "build/.cache/triton")
	if _, err := os.Stat(filepath.Join(wheels, "version")); err != nil {
		if os.Getenv("CI") != "" {
			require.NoError(t, err)
		}
		t.Skipf("%v: run build/scripts/deps.sh", err)
	}
	d := start(t, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0"}, serve.Options{
		Models: []string{servetest.Copies(t)}})
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "build/.cache/venv/bin/python"), "testdata/triton.py",
		d.HTTP.String(), d.GRPC.String())
	cmd.Env = append(os.Environ(), "PYTHONPATH="+wheels)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `(?m)^[0-9]+ checks passed$`, string(out))
	t.Logf("%s", out)
}

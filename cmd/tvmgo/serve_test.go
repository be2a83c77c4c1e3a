//go:build cgo

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/internal/testing/signing"
)

// served is a process of tvmgo serve.
type served struct {
	cmd        *exec.Cmd
	http, grpc string // addresses
	log        string // file
}

func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	s, wait := launchServe(t, args...)
	wait()
	return s
}

// launchServe returns before the process serves. wait returns once it does.
func launchServe(t *testing.T, args ...string) (s *served, wait func()) {
	t.Helper()
	s = &served{log: filepath.Join(t.TempDir(), "log")}
	s.cmd = exec.Command(must.Get(buildOnce())(t),
		append([]string{"serve", "--http", "localhost:0", "--grpc", "localhost:0", "--log-format", "json"}, args...)...)
	log := must.Get(os.Create(s.log))(t)
	defer log.Close()
	s.cmd.Stderr = log
	out := must.Get(s.cmd.StdoutPipe())(t)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s, func() {
		t.Helper()
		lines := bufio.NewScanner(out)
		for s.http == "" || s.grpc == "" {
			require.True(t, lines.Scan(), "it ended: %s", must.Get(os.ReadFile(s.log))(t))
			if at, ok := strings.CutPrefix(lines.Text(), "HTTP on "); ok {
				s.http = at
			}
			if at, ok := strings.CutPrefix(lines.Text(), "gRPC on "); ok {
				s.grpc = at
			}
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
	}
}

// infer asks the model affine for x, and returns the status and the result.
func (s *served) infer(x int) (int, float64, error) {
	body := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[%d,0,0,0]}]}`, x)
	answer, err := http.Post("http://"+s.http+"/v2/models/affine/infer", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	var got struct{ Outputs []struct{ Data []float64 } }
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || len(got.Outputs) == 0 {
		return answer.StatusCode, 0, err
	}
	return answer.StatusCode, got.Outputs[0].Data[0], nil
}

// SIGHUP loads files again. SIGTERM ends the process with status 0. The log is JSON.
func TestServe_Signals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "affine.so")
	servetest.Affine(t, file, 3, 1)
	s := startServe(t, dir, "--max-batch", "8", "--no-watch")
	other := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, other, 5, 2)
	require.NoError(t, os.Rename(other, file))
	_, y, err := s.infer(1)
	require.NoError(t, err)
	require.Equal(t, 4.0, y) // it is not loaded yet
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool {
		_, y, err := s.infer(1)
		return err == nil && y == 7
	}, time.Minute, time.Millisecond)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait(), "%s", must.Get(os.ReadFile(s.log))(t)) // status 0
	for _, line := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile(s.log))(t))), "\n") {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

// Only signed files are served; one that is not leaves the old one in place, and the log names it. A signature that
// comes later is noticed.
func TestServe_TrustedKeys(t *testing.T) {
	key := signing.NewKey(t)
	dir := t.TempDir()
	file, unsigned := filepath.Join(dir, "affine.so"), filepath.Join(dir, "unsigned.so")
	servetest.Affine(t, file, 3, 1)
	keys := signing.PublicFile(t, key)
	status, _, stderr := built(t, ".", "serve", file, "--http", "localhost:0", "--grpc", "", "--trusted-keys", keys)
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "load model affine: load "+file+": it is not signed: there is no "+file+".minisig")

	signing.Sign(t, key, file)
	s := startServe(t, dir, "--trusted-keys", keys)
	logged := func(text string) bool { return strings.Contains(string(must.Get(os.ReadFile(s.log))(t)), text) }
	_, y, err := s.infer(1)
	require.NoError(t, err)
	require.Equal(t, 4.0, y)
	servetest.Affine(t, unsigned, 3, 1)
	require.Eventually(t, func() bool { return logged("load " + unsigned + ": it is not signed") }, time.Minute,
		time.Millisecond)

	other := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, other, 5, 2)
	require.NoError(t, os.Rename(other, file))
	require.Eventually(t, func() bool { return logged("load " + file + ": it is not the file that was signed") },
		time.Minute, time.Millisecond)
	_, y, err = s.infer(1)
	require.NoError(t, err)
	require.Equal(t, 4.0, y)
	signing.Sign(t, key, file)
	require.Eventually(t, func() bool {
		_, y, err := s.infer(1)
		return err == nil && y == 7
	}, time.Minute, time.Millisecond)
}

func TestServe_WrongCommandLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	empty := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(empty, []byte("# none\n\n"), 0o600))
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, statusUsage, "0 arguments instead of at least 1"},
		{[]string{"nothing.so"}, statusFailure, "no such file"},
		{[]string{file, "--http", "", "--grpc", ""}, statusFailure, "there is no address"},
		{[]string{file, "--pprof", "0.0.0.0:0"}, statusFailure, "is reached from other machines"},
		{[]string{file, "--tls-cert", "c.pem"}, statusFailure, "needs both the certificate and the key"},
		{[]string{file, "--tls-ca", "ca.pem"}, statusUsage, "--tls-ca and --tls-name are for --check"},
		{[]string{file, "--tls-name", "localhost"}, statusUsage, "clients' certificates are for --tls-client-ca"},
		{[]string{"--check", ""}, statusFailure, `check the server at "": want http://HOST:PORT or https://HOST:PORT`},
		{[]string{file, "--tokens", empty}, statusFailure, "has no token"},
		{[]string{file, "--trusted-keys", empty}, statusFailure, "--trusted-keys: read keys " + empty + ": it has no key"},
		{[]string{file, "--device", "gpu"}, statusUsage, "--device gpu"},
		{[]string{file, "--log-format", "xml"}, statusUsage, "want text or json"},
		{[]string{file, "--max-batch", "4", "--preferred-batch", "8"}, statusFailure, "want numbers from 1 to max_batch (4)"},
		{[]string{file + ":nothing"}, statusFailure, "nothing"},
		{[]string{"a b=" + file}, statusFailure, "no name of a model"},
	} {
		status, _, stderr := cli(append([]string{"serve", "--http", "localhost:0", "--grpc", "localhost:0"}, c.args...)...)
		require.Equal(t, c.status, status, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.want, "%v", c.args)
	}
}

// After kill -9, it serves again: nothing that the old process left is in the way.
func TestServe_Killed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	s := startServe(t, file)
	address := s.http
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
	s = startServe(t, file, "--http", address)
	require.Equal(t, address, s.http)
	_, y, err := s.infer(5)
	require.NoError(t, err)
	require.Equal(t, 16.0, y)
}

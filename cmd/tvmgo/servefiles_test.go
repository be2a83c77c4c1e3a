//go:build cgo

package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/internal/testing/signing"
)

// serve --check succeeds if another process is ready.
func TestServe_Check(t *testing.T) {
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	s := startServe(t, file)
	url := "http://" + s.http
	status, stdout, stderr := cli("serve", "--check", url)
	require.Zero(t, status, stderr)
	require.Empty(t, stdout+stderr)
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()
	status, _, stderr = cli("serve", "--check", url)
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "check the server at "+url+": ")
	status, _, stderr = cli("serve", "--check", url, file)
	require.Equal(t, statusUsage, status, stderr)
}

// The probe that docs/serving.md shows for servers with mTLS succeeds; without a certificate, it does not.
func TestServe_CheckAsDocumented(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/serving.md"))(t)
	probe := regexp.MustCompile(`(?s)exec:\s+command: \[tvmgo, (serve, [^]]*)\]\s+timeoutSeconds: (\d+)`)
	shown := probe.FindSubmatch(text)
	require.NotNil(t, shown)
	require.Greater(t, must.Get(strconv.Atoi(string(shown[2])))(t), int(checkTime.Seconds()))
	file, dir := filepath.Join(t.TempDir(), "affine.so"), t.TempDir()
	servetest.Affine(t, file, 3, 1)
	authority := servetest.NewAuthority(t, dir, "ca")
	cert, key := authority.Sign(t, dir, "server", "models.example")
	authority.Sign(t, dir, "probe")
	s := startServe(t, file, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", authority.File)
	args := strings.NewReplacer("/tls/", dir+"/", "https://localhost:8000", "https://"+s.http).Replace(string(shown[1]))
	command := regexp.MustCompile(`,\s+`).Split(args, -1)
	status, stdout, stderr := cli(command...)
	require.Zero(t, status, "%v: %s", command, stderr)
	require.Empty(t, stdout+stderr)

	anonymous := slices.DeleteFunc(slices.Clone(command), func(a string) bool {
		return strings.HasPrefix(a, "--tls-cert") || strings.HasPrefix(a, "--tls-key")
	})
	require.Len(t, anonymous, len(command)-2)
	status, _, stderr = cli(anonymous...)
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "certificate required")
	status, _, stderr = cli("serve", "--check", "http://"+s.http)
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "it is not ready: 400 Bad Request: Client sent an HTTP request to an HTTPS server")
}

// A server that accepts a connection and does not answer is not ready.
func TestServe_CheckSilent(t *testing.T) {
	silent := must.Get(net.Listen("tcp", "localhost:0"))(t)
	defer silent.Close()
	status, _, stderr := cli("serve", "--check", "http://"+silent.Addr().String())
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "it does not answer in time")
}

// A SIGHUP that comes while models are loaded for the first time does not end the process: all are loaded again.
func TestServe_HangupWhileLoading(t *testing.T) {
	dir := t.TempDir()
	file, settings := filepath.Join(dir, "affine.so"), filepath.Join(dir, "affine.json")
	servetest.Affine(t, file, 3, 1)
	require.NoError(t, syscall.Mkfifo(settings, 0o600))
	s, wait := launchServe(t, file, "--no-watch")
	pipe := must.Get(os.OpenFile(settings, os.O_WRONLY, 0))(t) // the process waits for its settings
	require.NoError(t, os.Remove(settings))                    // the next time, there are none
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	must.Get(pipe.WriteString("{}"))(t)
	require.NoError(t, pipe.Close())
	wait()
	require.Eventually(t, func() bool {
		return strings.Count(string(must.Get(os.ReadFile(s.log))(t)), `"a model was loaded"`) == 2
	}, time.Minute, time.Millisecond)
}

// SIGHUP reads keys and tokens again: what is signed with a new key is loaded, and what only an old key has signed is
// not. Files without keys or tokens leave the old ones in use.
func TestServe_FilesAreReadAgain(t *testing.T) {
	first, second := signing.NewKey(t), signing.NewKey(t)
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "affine.so"), filepath.Join(t.TempDir(), "tokens")
	servetest.Affine(t, file, 3, 1)
	signing.Sign(t, first, file)
	keys := signing.PublicFile(t, first)
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(tokens, "one\n")
	s := startServe(t, dir, "--trusted-keys", keys, "--tokens", tokens, "--no-watch")
	ask := func(token string) int {
		r := must.Get(http.NewRequest(http.MethodGet, "http://"+s.http+"/v2/models/affine", nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		answer := must.Get(http.DefaultClient.Do(r))(t)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	loaded := `"a model was loaded"`
	again := func(line string) { t.Helper(); s.hangUp(t, line) }
	require.Equal(t, http.StatusOK, ask("one"))

	write(tokens, "two\n")
	again(loaded)
	require.Equal(t, http.StatusOK, ask("two"))
	require.Equal(t, http.StatusUnauthorized, ask("one"))

	signing.Sign(t, second, file)
	again("it is signed with a key that is not trusted") // it is not trusted yet
	both := must.Get(os.ReadFile(signing.PublicFile(t, first, second)))(t)
	write(keys, string(both))
	again(loaded)

	write(keys, "none\n")
	write(tokens, "three\n")
	again("the tokens and keys were not read again")
	require.Equal(t, http.StatusOK, ask("two"), "both stay, or none")
	again(loaded) // by the second key

	write(keys, string(must.Get(os.ReadFile(signing.PublicFile(t, first)))(t)))
	again("it is signed with a key that is not trusted")
	require.Equal(t, http.StatusOK, ask("three"), "the old model stays")
}

// hangUp sends SIGHUP, and waits for a new line with a text in the log.
func (s *served) hangUp(t *testing.T, text string) {
	t.Helper()
	count := func() int { return strings.Count(string(must.Get(os.ReadFile(s.log))(t)), text) }
	before := count()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return count() > before }, time.Minute, time.Millisecond)
}

// SIGHUP reads certificates again; wrong ones leave the old ones in use. A probe needs no token.
func TestServe_CertificatesAreReadAgain(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "affine.so"), t.TempDir()
	servetest.Affine(t, file, 3, 1)
	tokens := filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("one\n"), 0o600))
	first, second := servetest.NewAuthority(t, dir, "first"), servetest.NewAuthority(t, dir, "second")
	cert, key := first.Sign(t, dir, "server")
	s := startServe(t, file, "--tls-cert", cert, "--tls-key", key, "--tokens", tokens, "--no-watch")
	signedBy := func(a *servetest.Authority) bool {
		status, _, stderr := cli("serve", "--check", "https://"+s.http, "--tls-ca", a.File)
		if status != 0 {
			require.Contains(t, stderr, "unknown authority")
		}
		return status == 0
	}
	require.True(t, signedBy(first))
	require.False(t, signedBy(second))

	second.Sign(t, dir, "server")
	s.hangUp(t, `"a model was loaded"`)
	require.True(t, signedBy(second))
	require.False(t, signedBy(first))

	require.NoError(t, os.WriteFile(cert, []byte("none"), 0o600))
	s.hangUp(t, "the certificates were not read again")
	require.True(t, signedBy(second))
}

package daemon_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
)

// A server is ready, or the error says why it is not.
func TestCheck(t *testing.T) {
	s := must.Get(serve.New(t.Context(), affine(t)))(t)
	d := must.Get(daemon.Start(s, daemon.Config{HTTP: "localhost:0", Logger: quiet}))(t)
	url := "http://" + d.HTTP.String()
	require.NoError(t, daemon.Check(t.Context(), url, daemon.ClientTLS{}))
	require.NoError(t, daemon.Check(t.Context(), url+"/", daemon.ClientTLS{}))
	s.NotReady()
	require.ErrorContains(t, daemon.Check(t.Context(), url, daemon.ClientTLS{}),
		`check the server at `+url+`: it is not ready: 503 Service Unavailable: {"error":"not ready"}`)
	require.NoError(t, d.Stop())
	require.ErrorContains(t, daemon.Check(t.Context(), url, daemon.ClientTLS{}), "connection refused")

	silent := must.Get(net.Listen("tcp", "localhost:0"))(t)
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := silent.Accept(); err == nil {
			defer c.Close()
			cancel() // it was asked, and does not answer
			<-t.Context().Done()
		}
	}()
	require.ErrorIs(t, daemon.Check(ctx, "http://"+silent.Addr().String(), daemon.ClientTLS{}), context.Canceled)
	for _, wrong := range []string{"", "localhost:8000", "ftp://localhost", "http://", "http://[", "/v2"} {
		require.ErrorContains(t, daemon.Check(t.Context(), wrong, daemon.ClientTLS{}), "check the server at", wrong)
	}
}

// With mTLS, it needs a certificate that the server accepts, and accepts the server's alone.
func TestCheck_TLS(t *testing.T) {
	dir := t.TempDir()
	ours, others := servetest.NewAuthority(t, dir, "ours"), servetest.NewAuthority(t, dir, "others")
	cert, key := ours.Sign(t, dir, "server")
	clientCert, clientKey := ours.Sign(t, dir, "client")
	strangeCert, strangeKey := others.Sign(t, dir, "stranger")
	files := daemon.TLS{Cert: cert, Key: key, ClientCA: ours.File}
	d := start(t, daemon.Config{HTTP: "localhost:0", TLS: files}, affine(t))
	url := "https://" + d.HTTP.String()
	broken := filepath.Join(dir, "broken.pem")
	require.NoError(t, os.WriteFile(broken, []byte("none"), 0o600))
	for _, c := range []struct {
		tls  daemon.ClientTLS
		want string
	}{
		{daemon.ClientTLS{Cert: clientCert, Key: clientKey, CA: ours.File}, ""},
		{daemon.ClientTLS{Cert: clientCert, Key: clientKey, CA: ours.File, Name: "localhost"}, ""},
		{daemon.ClientTLS{Cert: clientCert, Key: clientKey, CA: ours.File, Name: "models.example"}, "not models.example"},
		{daemon.ClientTLS{Cert: clientCert, Key: clientKey, CA: others.File}, "unknown authority"},
		{daemon.ClientTLS{Cert: clientCert, Key: clientKey}, "unknown authority"},
		{daemon.ClientTLS{Cert: strangeCert, Key: strangeKey, CA: ours.File}, "tls"},
		{daemon.ClientTLS{CA: ours.File}, "certificate required"},
		{daemon.ClientTLS{Cert: clientCert, CA: ours.File}, `its key ""`},
		{daemon.ClientTLS{CA: broken}, broken + " has none in PEM"},
		{daemon.ClientTLS{CA: filepath.Join(dir, "nothing")}, "no such file"},
	} {
		err := daemon.Check(t.Context(), url, c.tls)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

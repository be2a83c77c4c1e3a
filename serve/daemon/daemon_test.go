package daemon_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
	"tvmgo/serve/oip/inference"
)

// affine is the options of a server with one model.
func affine(t *testing.T) serve.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	return serve.Options{Models: []string{file}, Logger: quiet}
}

func ready(t *testing.T, d *daemon.Daemon, c *tls.Config) error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get("https://" + d.HTTP.String() + "/v2/health/ready")
	if err != nil {
		return err
	}
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	channel := must.Get(grpc.NewClient(d.GRPC.String(), grpc.WithTransportCredentials(credentials.NewTLS(c.Clone()))))(t)
	defer channel.Close()
	live, err := inference.NewGRPCInferenceServiceClient(channel).ServerReady(t.Context(), &inference.ServerReadyRequest{})
	if err == nil {
		require.True(t, live.Ready)
	}
	return err
}

// With mTLS, only clients that the authority signed are served, over HTTP and gRPC. New certificates are used without
// a restart; wrong ones leave the old ones in use.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ours, others := servetest.NewAuthority(t, dir, "ours"), servetest.NewAuthority(t, dir, "others")
	cert, key := ours.Sign(t, dir, "server")
	clientCert, clientKey := ours.Sign(t, dir, "client")
	strangeCert, strangeKey := others.Sign(t, dir, "stranger")
	files := daemon.TLS{Cert: cert, Key: key, ClientCA: ours.File}
	d := start(t, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0", TLS: files}, affine(t))
	require.NoError(t, ready(t, d, ours.Client(t, clientCert, clientKey)))
	require.Error(t, ready(t, d, ours.Client(t, "", "")))
	require.Error(t, ready(t, d, ours.Client(t, strangeCert, strangeKey)))
	require.Error(t, ready(t, d, others.Client(t, clientCert, clientKey)))

	require.NoError(t, os.WriteFile(cert, []byte("none"), 0o600))
	require.ErrorContains(t, d.ReloadTLS(), cert)
	require.NoError(t, ready(t, d, ours.Client(t, clientCert, clientKey)))
	others.Sign(t, dir, "server")
	require.NoError(t, d.ReloadTLS())
	require.Error(t, ready(t, d, ours.Client(t, clientCert, clientKey)))
	require.NoError(t, ready(t, d, others.Client(t, clientCert, clientKey)))

	// Clients of an authority that was removed are not served, also if they resume a session.
	known := others.Client(t, clientCert, clientKey)
	known.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	require.NoError(t, ready(t, d, known))
	require.NoError(t, os.WriteFile(ours.File, must.Get(os.ReadFile(others.File))(t), 0o600))
	require.NoError(t, d.ReloadTLS())
	require.Error(t, ready(t, d, known))
	require.NoError(t, ready(t, d, others.Client(t, strangeCert, strangeKey)))
}

func TestStart_WrongConfigurations(t *testing.T) {
	s := must.Get(serve.New(t.Context(), affine(t)))(t)
	defer func() { require.NoError(t, s.Shutdown(context.Background())) }()
	taken := must.Get(net.Listen("tcp", "localhost:0"))(t)
	defer taken.Close()
	for want, c := range map[string]daemon.Config{
		"there is no address":        {},
		"both the certificate":       {HTTP: "localhost:0", TLS: daemon.TLS{Cert: "c.pem"}},
		"no/such.pem":                {HTTP: "localhost:0", TLS: daemon.TLS{Cert: "no/such.pem", Key: "no/such.key"}},
		"HTTP: listen tcp":           {HTTP: taken.Addr().String()},
		"gRPC: listen tcp":           {HTTP: "localhost:0", GRPC: taken.Addr().String()},
		"reached from other machine": {HTTP: "localhost:0", Pprof: ":0"},
		"want localhost:PORT":        {HTTP: "localhost:0", Pprof: "192.0.2.1:6060"},
	} {
		_, err := daemon.Start(s, c)
		require.ErrorContains(t, err, want)
	}
}

func TestPprof(t *testing.T) {
	d := start(t, daemon.Config{HTTP: "localhost:0", Pprof: "127.0.0.1:0"}, affine(t))
	answer := must.Get(http.Get("http://" + d.Pprof.String() + "/debug/pprof/cmdline"))(t)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	answer = must.Get(http.Get("http://" + d.HTTP.String() + "/debug/pprof/cmdline"))(t)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
}

// Beyond the limit, a connection waits until another one is closed.
func TestLimit_Connections(t *testing.T) {
	d := start(t, daemon.Config{HTTP: "localhost:0", Connections: 1}, affine(t))
	dial := func() net.Conn {
		c := must.Get(net.Dial("tcp", d.HTTP.String()))(t)
		must.Get(io.WriteString(c, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"))(t)
		return c
	}
	first := dial()
	defer first.Close()
	line := make([]byte, len("HTTP/1.1 200 OK"))
	must.Get(io.ReadFull(first, line))(t)
	second := dial()
	defer second.Close()
	require.NoError(t, second.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := second.Read(line)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, second.SetReadDeadline(time.Time{}))
	require.NoError(t, first.Close())
	must.Get(io.ReadFull(second, line))(t)
	require.Equal(t, "HTTP/1.1 200 OK", string(line))
}

func TestLimit_Header(t *testing.T) {
	d := start(t, daemon.Config{HTTP: "localhost:0", HeaderBytes: 8 << 10}, affine(t))
	for size, want := range map[int]int{4 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r := must.Get(http.NewRequest(http.MethodGet, "http://"+d.HTTP.String()+"/v2/health/live", nil))(t)
		r.Header.Set("X-Long", strings.Repeat("x", size))
		answer := must.Get(http.DefaultClient.Do(r))(t)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, size)
	}
}

func TestGRPC_HealthAndTokens(t *testing.T) {
	o := affine(t)
	o.Tokens = []string{"secret"}
	d := start(t, daemon.Config{GRPC: "localhost:0"}, o)
	channel := must.Get(grpc.NewClient(d.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer channel.Close()
	state := must.Get(healthpb.NewHealthClient(channel).Check(t.Context(), &healthpb.HealthCheckRequest{}))(t)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, state.Status)
	c := inference.NewGRPCInferenceServiceClient(channel)
	_, err := c.ServerReady(t.Context(), &inference.ServerReadyRequest{})
	require.NoError(t, err)
	_, err = c.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: "affine"})
	require.ErrorContains(t, err, "Unauthenticated")
}

// Spans go to a collector, below the span that the client names.
func TestSpans(t *testing.T) {
	var got atomic.Value
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Store(r.URL.Path + " " + string(body))
	}))
	defer collector.Close()
	for _, wrong := range []string{"localhost:4318", "ftp://localhost", "http://", ":"} {
		_, err := daemon.NewSpans(t.Context(), wrong)
		require.Error(t, err, wrong)
	}
	spans := must.Get(daemon.NewSpans(t.Context(), collector.URL))(t)
	o := affine(t)
	o.Tracer = spans
	d := start(t, daemon.Config{HTTP: "localhost:0"}, o)
	r := must.Get(http.NewRequest(http.MethodPost, "http://"+d.HTTP.String()+"/v2/models/affine/infer", strings.NewReader(
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`)))(t)
	id := "0123456789abcdef0123456789abcdef"
	r.Header.Set("traceparent", fmt.Sprintf("00-%s-0123456789abcdef-01", id))
	answer := must.Get(http.DefaultClient.Do(r))(t)
	require.NoError(t, answer.Body.Close())
	require.NoError(t, spans.Close())
	text, _ := got.Load().(string)
	for _, want := range []string{"/v1/traces ", "infer affine", "queue", "compute",
		"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"} {
		require.Contains(t, text, want)
	}
}

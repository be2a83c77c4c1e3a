package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"tvmgo/internal/testing/must"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
	"tvmgo/serve/oip/inference"
)

// rawClient is a connection of HTTP/1.
type rawClient struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, d *daemon.Daemon) rawClient {
	t.Helper()
	c := must.Get(net.Dial("tcp", d.HTTP.String()))(t)
	t.Cleanup(func() { c.Close() })
	return rawClient{c, bufio.NewReader(c)}
}

const numbers4 = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[5,5,5,5]}]}`

var wholeRequest = fmt.Sprintf("POST /v2/models/affine/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
	len(numbers4), numbers4)

func (c rawClient) send(t *testing.T, text string) {
	t.Helper()
	must.Get(io.WriteString(c, text))(t)
}

// answer reads an answer, and reports whether it ends the connection.
func (c rawClient) answer(t *testing.T) (last bool) {
	t.Helper()
	r := must.Get(http.ReadResponse(c.in, nil))(t)
	body := string(must.Get(io.ReadAll(r.Body))(t))
	require.Equal(t, http.StatusOK, r.StatusCode, body)
	require.Contains(t, body, `"data":[16,16,16,16]`)
	return r.Close
}

func (c rawClient) requireEOF(t *testing.T) {
	t.Helper()
	_, err := c.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// When the server stops, it closes idle connections, and answers each request of which it has got a byte: on a new
// connection, on one that was in use, and in a stream of gRPC. Streams that clients keep open end.
func TestStop_AnswersWhatHasBegun(t *testing.T) {
	s := must.Get(serve.New(t.Context(), affine(t)))(t)
	d := must.Get(daemon.Start(s, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0", Logger: quiet,
		HeaderTime: time.Hour, StopTime: 5 * time.Minute}))(t)
	idle, used, fresh, body := dial(t, d), dial(t, d), dial(t, d), dial(t, d)
	for _, c := range []rawClient{idle, used} {
		c.send(t, wholeRequest)
		require.False(t, c.answer(t))
	}
	used.send(t, wholeRequest[:1])
	fresh.send(t, wholeRequest[:30])
	body.send(t, wholeRequest[:len(wholeRequest)-5])

	channel := must.Get(grpc.NewClient(d.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer channel.Close()
	stream := must.Get(inference.NewGRPCInferenceServiceClient(channel).ModelStreamInfer(t.Context()))(t)
	require.NoError(t, stream.Send(asking{&linear{name: "affine"}, 5, 1}.message()))
	require.Empty(t, must.Get(stream.Recv())(t).ErrorMessage)
	watch := must.Get(healthpb.NewHealthClient(channel).Watch(t.Context(), &healthpb.HealthCheckRequest{}))(t)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, must.Get(watch.Recv())(t).Status)

	stopped := make(chan error)
	go func() { stopped <- d.Stop() }()
	idle.requireEOF(t) // no more is accepted
	_, err := net.Dial("tcp", d.HTTP.String())
	require.Error(t, err)
	used.send(t, wholeRequest[1:])
	fresh.send(t, wholeRequest[30:])
	body.send(t, wholeRequest[len(wholeRequest)-5:])
	for _, c := range []rawClient{used, fresh, body} {
		require.True(t, c.answer(t))
		c.requireEOF(t)
	}
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	for err = nil; err == nil; _, err = watch.Recv() {
	}
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	require.NoError(t, <-stopped)
}

// While balancers notice that the server is not ready, requests are answered, and responses end their connections.
func TestStop_Delay(t *testing.T) {
	s := must.Get(serve.New(t.Context(), affine(t)))(t)
	d := must.Get(daemon.Start(s, daemon.Config{HTTP: "localhost:0", Logger: quiet}))(t)
	c := dial(t, d)
	c.send(t, wholeRequest)
	require.False(t, c.answer(t))
	s.NotReady()
	c.send(t, wholeRequest)
	require.True(t, c.answer(t))
	c.requireEOF(t)
	c = dial(t, d)
	c.send(t, wholeRequest)
	require.True(t, c.answer(t))
	require.NoError(t, d.Stop())
	require.NoError(t, s.Shutdown(context.Background()))
}

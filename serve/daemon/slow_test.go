package daemon_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	tvm "tvmgo/runtime"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
	"tvmgo/serve/oip/inference"
)

// largeRows is the number of rows of a request whose answer, of 16 MiB, is larger than the buffers of a connection.
const largeRows = 64

// slowReader is a client that has sent a request for a large answer to the model large.
type slowReader struct {
	net.Conn
	close func()
}

// stopReading asks by HTTP, and does not read.
func stopReading(t *testing.T, address string) slowReader {
	t.Helper()
	c := must.Get(net.Dial("tcp", address))(t)
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(256<<10)) // it does not grow
	head := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,1,1],`+
		`"parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, largeRows, largeRows*4)
	must.Get(fmt.Fprintf(c, "POST /v2/models/large/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\n"+
		"Content-Length: %d\r\n\r\n%s%s", len(head), len(head)+largeRows*4, head, raw(1, largeRows)))(t)
	return slowReader{c, func() { c.Close() }}
}

// receiver is a stream of gRPC.
type receiver struct {
	inference.GRPCInferenceService_ModelStreamInferClient
	close func()
}

// stopReceiving asks n times in one stream of gRPC, and does not read.
func stopReceiving(t *testing.T, address string, n int) receiver {
	t.Helper()
	channel := must.Get(grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*largeRows*servetest.LargeColumns*4))))(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := must.Get(inference.NewGRPCInferenceServiceClient(channel).ModelStreamInfer(ctx))(t)
	for range n {
		require.NoError(t, s.Send(&inference.ModelInferRequest{ModelName: "large",
			Inputs: []*inference.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "FP32",
				Shape: []int64{largeRows, 1, 1}}}, RawInputContents: [][]byte{raw(1, largeRows)}}))
	}
	return receiver{s, func() { cancel(); channel.Close() }}
}

// logged counts the lines of a log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logged) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// large serves the model large.
func large(t *testing.T, limit time.Duration, log io.Writer) (*serve.Server, *daemon.Daemon) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "large.so")
	servetest.Large(t, file)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := must.Get(serve.New(t.Context(), serve.Options{Models: []string{file}, Limits: serve.Limits{Time: limit},
		Logger: logger}))(t)
	return s, must.Get(daemon.Start(s, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0", Logger: logger}))(t)
}

func tensors() int64 { return tvm.Live().Tensors }

// Clients that do not read their answers keep no worker, no other client and no reload waiting, and what they had is
// free when they have gone.
func TestSlowReaders_HoldNothing(t *testing.T) {
	leaks.Check(t, tensors)
	s, d := large(t, 24*time.Hour, io.Discard)
	settled := leaks.Settled(tensors)
	var slow []func()
	for range 4 {
		slow = append(slow, stopReading(t, d.HTTP.String()).close, stopReceiving(t, d.GRPC.String(), 3).close)
	}
	computed := func() int { return int(must.Get(s.Statistics("large", ""))(t)[0].Success.Count) }
	require.Eventually(t, func() bool { return computed() == 4+4*3 }, time.Minute, time.Millisecond)
	channel := must.Get(grpc.NewClient(d.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	l := &load{http: d.HTTP.String(), grpc: inference.NewGRPCInferenceServiceClient(channel), pool: &http.Client{}}
	for range 10 {
		body := []byte(`{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1,1],"data":[7]}]}`)
		text, _, err := l.post(t.Context(), "large", body, 0)
		require.NoError(t, err)
		require.Contains(t, string(text), `"data":[7,7,7,`)
		m := &inference.ModelInferRequest{ModelName: "large", Inputs: []*inference.ModelInferRequest_InferInputTensor{
			{Name: "x", Datatype: "FP32", Shape: []int64{1, 1, 1}}}, RawInputContents: [][]byte{raw(7, 1)}}
		answer := must.Get(l.grpc.ModelInfer(t.Context(), m))(t)
		require.Equal(t, raw(7, servetest.LargeColumns), answer.RawOutputContents[0])
		require.NoError(t, s.Reload(t.Context()))
	}
	require.NoError(t, s.Unload(t.Context(), "large"))
	require.NoError(t, s.Load(t.Context(), "large"))
	require.Greater(t, tensors(), settled) // they still wait
	for _, end := range slow {
		end()
	}
	require.True(t, leaks.Until(func() bool { return tensors() <= settled }))
	require.NoError(t, channel.Close())
	l.pool.CloseIdleConnections()
	require.NoError(t, d.Stop())
}

// Clients that read slowly, or not at all, are ended after the time to write a response.
func TestSlowReaders_AreEnded(t *testing.T) {
	leaks.Check(t, tensors)
	log := &logged{}
	_, d := large(t, time.Second, log)
	settled := leaks.Settled(tensors)
	stopped, trickling := stopReading(t, d.HTTP.String()), stopReading(t, d.HTTP.String())
	defer stopped.close()
	defer trickling.close()
	stream := stopReceiving(t, d.GRPC.String(), 3)
	defer stream.close()
	ended := func() bool { return log.count("did not take its response") == 3 }
	go func() { // a byte at a time, until it is closed
		for one := make([]byte, 1); !ended(); time.Sleep(time.Millisecond) {
			if _, err := io.ReadFull(trickling, one); err != nil {
				return
			}
		}
	}()
	require.Eventually(t, ended, time.Minute, time.Millisecond)
	for _, c := range []slowReader{stopped, trickling} {
		n, _ := io.Copy(io.Discard, c) // what was on its way
		require.Less(t, n, int64(largeRows*servetest.LargeColumns*4))
	}
	n, err := -1, error(nil)
	for ; err == nil; n++ {
		_, err = stream.Recv()
	}
	require.Less(t, n, 3)
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), err)
	require.True(t, leaks.Until(func() bool { return tensors() == settled }))
	require.NoError(t, d.Stop())
}

// A client that sends requests and never reads is ended, whatever it asks for.
func TestSlowReaders_ManyRequests(t *testing.T) {
	_, d := large(t, time.Second, io.Discard)
	for _, request := range []string{"GET /v2/models/large HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /v2/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"POST /v2/repository/index HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"} {
		c := must.Get(net.Dial("tcp", d.HTTP.String()))(t)
		defer c.Close()
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Minute))) // ends a hang
		many := strings.Repeat(request, 1000)
		var err error
		for err == nil {
			_, err = io.WriteString(c, many)
		}
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, request)
	}
	require.NoError(t, d.Stop())
}

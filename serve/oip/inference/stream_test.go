package inference

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

type stream = grpc.BidiStreamingClient[ModelInferRequest, ModelStreamInferResponse]

func openStream(t *testing.T, ctx context.Context, f *fake, options ...grpc.ServerOption) stream {
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}, options...))
	return must.Get(client.ModelStreamInfer(ctx))(t)
}

// end checks that a stream has no more responses.
func end(t *testing.T, s stream) {
	require.NoError(t, s.CloseSend())
	_, err := s.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestStream_OrderOfCompletion(t *testing.T) {
	f := &fake{}
	sent := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{})}
	f.infer = func(_ context.Context, r *oip.Request) (*oip.Response, error) {
		<-sent[r.ID]
		return f.echo(r)
	}
	s := openStream(t, t.Context(), f)
	for id := range sent {
		require.NoError(t, s.Send(testRequest(id)))
	}
	for _, id := range []string{"c", "a", "b"} {
		close(sent[id])
		m := must.Get(s.Recv())(t)
		require.Empty(t, m.ErrorMessage)
		require.Equal(t, id, m.InferResponse.Id)
		require.Equal(t, "x", m.InferResponse.Outputs[0].Name)
		require.Equal(t, [][]byte{raw(t, float32(1.5))}, m.InferResponse.RawOutputContents)
		require.True(t, m.InferResponse.Parameters[finalResponse].GetBoolParam())
	}
	end(t, s)
}

func TestStream_Errors(t *testing.T) {
	f := &fake{}
	f.infer = func(_ context.Context, r *oip.Request) (*oip.Response, error) {
		switch r.ID {
		case "full":
			return nil, &oip.Error{Code: oip.ResourceExhausted, Message: "full", RetryAfter: 2 * time.Second}
		case "silent":
			return nil, &oip.Error{Code: oip.Unavailable}
		case "wrong":
			return &oip.Response{Outputs: []oip.Tensor{{Name: "y"}}}, nil
		}
		return f.echo(r)
	}
	s := openStream(t, t.Context(), f)
	for _, test := range []struct {
		id      string
		change  func(*ModelInferRequest)
		message string
		code    codes.Code
	}{
		{"full", nil, "full", codes.ResourceExhausted},
		{"silent", nil, "Unavailable", codes.Unavailable},
		{"wrong", nil, "the protocol has no datatype", codes.Internal},
		{"few", func(r *ModelInferRequest) { r.Inputs[0].Shape[0] = 2 }, `input "x": shape [2] has 2 elements, but ` +
			"fp32_contents has 1", codes.InvalidArgument},
		{"good", nil, "", codes.OK},
	} {
		r := testRequest(test.id)
		if test.change != nil {
			test.change(r)
		}
		require.NoError(t, s.Send(r))
		m := must.Get(s.Recv())(t)
		require.Equal(t, test.id, m.InferResponse.Id)
		require.Equal(t, "echo", m.InferResponse.ModelName)
		require.Contains(t, m.ErrorMessage, test.message)
		require.Equal(t, test.code == codes.OK, m.ErrorMessage == "")
		require.EqualValues(t, test.code, m.InferResponse.Parameters[grpcStatus].GetInt64Param())
		require.True(t, m.InferResponse.Parameters[finalResponse].GetBoolParam())
		if test.id == "full" {
			require.EqualValues(t, 2, m.InferResponse.Parameters[retryAfter].GetInt64Param())
		}
	}
	end(t, s)
}

// TestStream_Malformed sends what is not a request: bytes, whose error is a response, and then a message that is larger
// than the server accepts, which ends the stream.
func TestStream_Malformed(t *testing.T) {
	s := openStream(t, t.Context(), &fake{}, grpc.MaxRecvMsgSize(1000))
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown([]byte{1<<3 | 2, 5, 'x'})
	require.NoError(t, s.SendMsg(m))
	r := must.Get(s.Recv())(t)
	require.Contains(t, r.ErrorMessage, "read the request: the message is malformed: unexpected EOF")
	require.NoError(t, s.Send(testRequest(strings.Repeat("x", 2000))))
	_, err := s.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// TestStream_Bounded sends more requests than are answered at the same time: the rest are not read before others are
// answered.
func TestStream_Bounded(t *testing.T) {
	f, _, begun, finish := holding(t, maxInFlight)
	const extra = 20
	s := openStream(t, t.Context(), f)
	for i := range maxInFlight + extra {
		require.NoError(t, s.Send(testRequest(strconv.Itoa(i))))
	}
	seen := map[string]bool{}
	for range maxInFlight {
		seen[<-begun] = true
	}
	for range extra { // one ends, one begins
		finish <- struct{}{}
		must.Get(s.Recv())(t)
		seen[<-begun] = true
	}
	require.Len(t, seen, maxInFlight+extra)
	for range maxInFlight {
		finish <- struct{}{}
		must.Get(s.Recv())(t)
	}
	end(t, s)
}

// TestStream_Canceled checks that requests end with their stream: those that run, and those whose response is not read.
func TestStream_Canceled(t *testing.T) {
	f := &fake{}
	begun, ended := make(chan struct{}, maxInFlight), make(chan error, maxInFlight)
	f.infer = func(ctx context.Context, r *oip.Request) (*oip.Response, error) {
		begun <- struct{}{}
		if r.ID == "waits" {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
		var o oip.Tensor
		o.Name, o.Shape = "y", []int64{1 << 19}
		o.DType = r.Inputs[0].DType
		f.own(&o, make([]byte, 2<<20)) // more than the window of flow control
		return &oip.Response{ID: r.ID, Outputs: []oip.Tensor{o}}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := openStream(t, ctx, f)
	for i := range 6 {
		id := "waits"
		if i%2 == 1 {
			id = fmt.Sprint("large", i)
		}
		require.NoError(t, s.Send(testRequest(id)))
	}
	for range 6 {
		<-begun
	}
	cancel()
	for range 3 {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	_, err := s.Recv()
	require.Equal(t, codes.Canceled, status.Code(err))
}

// TestStream_ResponseTooLarge checks that a stream ends if a response cannot be sent, and with it the other requests.
func TestStream_ResponseTooLarge(t *testing.T) {
	f := &fake{}
	ended := make(chan error, 1)
	begun := make(chan struct{})
	f.infer = func(ctx context.Context, r *oip.Request) (*oip.Response, error) {
		if r.ID == "waits" {
			close(begun)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
		return f.echo(r)
	}
	s := openStream(t, t.Context(), f, grpc.MaxSendMsgSize(200))
	require.NoError(t, s.Send(testRequest("waits")))
	<-begun
	require.NoError(t, s.Send(testRequest(strings.Repeat("x", 300))))
	_, err := s.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "larger than max")
	require.ErrorIs(t, <-ended, context.Canceled)
}

// failing is a stream that cannot send.
type failing struct{ grpc.ServerStream }

func (failing) SendMsg(any) error { return status.Error(codes.DataLoss, "cannot send") }

// TestStream_InterceptorFails checks that a stream ends when an interceptor keeps a response from being sent.
func TestStream_InterceptorFails(t *testing.T) {
	f := &fake{}
	s := openStream(t, t.Context(), f, grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream,
		_ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, failing{stream})
	}))
	var err error
	for err == nil { // until the stream does not take more
		if err = s.Send(testRequest("")); err != nil {
			_, err = s.Recv()
		}
	}
	require.Equal(t, codes.DataLoss, status.Code(err))
}

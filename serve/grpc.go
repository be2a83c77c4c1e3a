package serve

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"tvmgo/serve/oip"
	"tvmgo/serve/oip/inference"
)

// GRPCOptions are options for a grpc.Server on which RegisterGRPC is called: they check tokens, bound messages, and
// take over the spans of clients.
func (s *Server) GRPCOptions() []grpc.ServerOption {
	const fields = 1 << 20 // of a message beside its tensors
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(s.limits.BodyBytes + fields)),
		grpc.MaxSendMsgSize(1<<31 - 1),
		grpc.UnaryInterceptor(func(ctx context.Context, in any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any,
			error) {
			if err := s.admitCall(ctx, call.FullMethod); err != nil {
				return nil, inference.Status(err)
			}
			return next(ctx, in)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, call *grpc.StreamServerInfo,
			next grpc.StreamHandler) error {
			ctx := stream.Context()
			if err := s.admitCall(ctx, call.FullMethod); err != nil {
				return inference.Status(err)
			}
			wrapped := &serverStream{ServerStream: stream, ctx: s.traceparent(ctx, nil)}
			if !call.IsClientStream { // it sends one message, for which package grpc does not wait
				return next(srv, wrapped)
			}
			return s.untilStuck(wrapped, func() error { return next(srv, wrapped) })
		}),
	}
}

// serverStream is a stream with another context. If limit is not 0, stuck is called when a message is not taken in that
// time.
type serverStream struct {
	grpc.ServerStream
	ctx   context.Context
	limit time.Duration
	stuck func()
}

// Context is that of the call.
func (s *serverStream) Context() context.Context { return s.ctx }

// SendMsg sends a message.
func (s *serverStream) SendMsg(m any) error {
	if s.limit > 0 {
		defer time.AfterFunc(s.limit, s.stuck).Stop()
	}
	return s.ServerStream.SendMsg(m)
}

// untilStuck runs the handler of a stream, and returns before it if the client does not take a message in time: then
// package grpc ends the stream, and with it the handler.
func (s *Server) untilStuck(stream *serverStream, handler func() error) error {
	stuck, ended := make(chan struct{}), make(chan error, 1)
	stream.limit, stream.stuck = s.limits.Time, sync.OnceFunc(func() { close(stuck) })
	go func() { ended <- handler() }()
	select {
	case err := <-ended:
		return err
	case <-stuck:
		err := oip.Errorf(oip.DeadlineExceeded, "the client did not take a response within %v", stream.limit)
		s.log.Debug("a client did not take its response", "error", err)
		return inference.Status(err)
	}
}

// RegisterGRPC adds the protocol's service to a server.
func (s *Server) RegisterGRPC(g *grpc.Server) { inference.Register(g, s, s.limits.oip()) }

// admitCall checks the token of a call.
func (s *Server) admitCall(ctx context.Context, method string) error {
	if strings.HasSuffix(method, "/ServerLive") || strings.HasSuffix(method, "/ServerReady") ||
		strings.HasPrefix(method, "/grpc.health.v1.Health/") {
		return nil
	}
	var authorization string
	if list := metadata.ValueFromIncomingContext(ctx, "authorization"); len(list) > 0 {
		authorization = list[0]
	}
	return s.admit(method, authorization)
}

var _ oip.Backend = (*Server)(nil)

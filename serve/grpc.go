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
			watch := strings.HasPrefix(call.FullMethod, healthService)
			if !call.IsClientStream && !watch { // it sends one message, for which package grpc does not wait
				return next(srv, wrapped)
			}
			return s.bounded(wrapped, func() error { return next(srv, wrapped) })
		}),
	}
}

const healthService = "/grpc.health.v1.Health/"

// serverStream is a stream with another context. If bounds is not nil, it may end before its client ends it.
type serverStream struct {
	grpc.ServerStream
	ctx    context.Context
	bounds *bounds
}

// bounds are those of a stream of requests, each of which has one response.
type bounds struct {
	limit time.Duration // for the client to take a response
	stuck func()        // is called if it did not

	mu       sync.Mutex
	requests int           // that have no response
	ended    bool          // no request is read any more
	answered chan struct{} // has a value after a response
}

// Context is that of the call.
func (s *serverStream) Context() context.Context { return s.ctx }

// RecvMsg reads a request.
func (s *serverStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	b := s.bounds
	if err != nil || b == nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return errStops()
	}
	b.requests++
	return nil
}

// SendMsg sends a response.
func (s *serverStream) SendMsg(m any) error {
	b := s.bounds
	if b == nil {
		return s.ServerStream.SendMsg(m)
	}
	defer time.AfterFunc(b.limit, b.stuck).Stop()
	err := s.ServerStream.SendMsg(m)
	b.mu.Lock()
	b.requests--
	b.mu.Unlock()
	select {
	case b.answered <- struct{}{}:
	default:
	}
	return err
}

// end ends a stream all of whose requests are answered, and reports whether it did.
func (b *bounds) end() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = b.requests <= 0 // a client that watches has more responses
	return b.ended
}

func errStops() error { return inference.Status(oip.Errorf(oip.Unavailable, "the server stops")) }

// bounded runs the handler of a stream, and returns before it if the client does not take a message in time, or if
// EndStreams was called: then package grpc ends the stream, and with it the handler.
func (s *Server) bounded(stream *serverStream, handler func() error) error {
	stuck, handled := make(chan struct{}), make(chan error, 1)
	b := &bounds{limit: s.limits.Time, stuck: sync.OnceFunc(func() { close(stuck) }), answered: make(chan struct{}, 1)}
	stream.bounds = b
	go func() { handled <- handler() }()
	ending := s.ending
	for {
		select {
		case err := <-handled:
			return err
		case <-stuck:
			err := oip.Errorf(oip.DeadlineExceeded, "the client did not take a response within %v", b.limit)
			s.log.Debug("a client did not take its response", "error", err)
			return inference.Status(err)
		case <-ending:
			ending = nil // see answered
		case <-b.answered:
		}
		if ending == nil && b.end() {
			return errStops()
		}
	}
}

// RegisterGRPC adds the protocol's service to a server.
func (s *Server) RegisterGRPC(g *grpc.Server) { inference.Register(g, s, s.limits.oip()) }

// admitCall checks the token of a call.
func (s *Server) admitCall(ctx context.Context, method string) error {
	if strings.HasSuffix(method, "/ServerLive") || strings.HasSuffix(method, "/ServerReady") ||
		strings.HasPrefix(method, healthService) {
		return nil
	}
	var authorization string
	if list := metadata.ValueFromIncomingContext(ctx, "authorization"); len(list) > 0 {
		authorization = list[0]
	}
	return s.admit(method, authorization)
}

var _ oip.Backend = (*Server)(nil)

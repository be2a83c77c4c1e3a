package serve

import (
	"context"
	"strings"

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
			return next(srv, &streamWithContext{stream, s.traceparent(ctx, nil)})
		}),
	}
}

// streamWithContext is a stream with another context.
type streamWithContext struct {
	grpc.ServerStream
	ctx context.Context
}

// Context is that of the call.
func (s *streamWithContext) Context() context.Context { return s.ctx }

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

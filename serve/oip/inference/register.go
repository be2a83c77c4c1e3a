package inference

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tvmgo/serve/oip"
)

// service answers the calls of GRPCInferenceService.
type service struct {
	UnimplementedGRPCInferenceServiceServer // has ModelInfer and ModelStreamInfer, which descriptor replaces
	backend                                 oip.Backend
	limits                                  oip.Limits
}

// Register makes a server of gRPC answer the calls of GRPCInferenceService with a server of models. It is called before
// Serve.
//
// The limits are those of oip.ReadRequest, except BodyBytes: the greatest message is an option of the server,
// grpc.MaxRecvMsgSize, whose default is 4 MiB. Messages of other calls than ModelInfer and ModelStreamInfer may have
// 64 KiB.
//
// Interceptors run before the message of a call is read: what they get as the request is empty. ModelInfer is
// registered with a stream of responses, of which it sends one: clients do not see a difference, but its interceptors
// are those of streams.
//
// The elements of a request come in contents, or all in raw_input_contents; those of FP16 and BF16 only in the latter.
// The elements of a response are always in raw_output_contents. The parameters priority and timeout (in microseconds)
// are those of oip.Request; sequences, shared memory and classification are errors with the code UNIMPLEMENTED; other
// parameters are ignored.
//
// A stream of ModelStreamInfer answers up to 32 requests at the same time. It does not read the next one while there
// are so many, or while their tensors have more than Limits.BodyBytes. A request that fails has a response with an
// error_message, and the id and the model of the request; its parameters grpc-status and retry-after (seconds) say what
// the status of ModelInfer would say. The stream goes on. Every response has the parameter triton_final_response. A
// stream that ends cancels its requests.
func Register(s grpc.ServiceRegistrar, b oip.Backend, limits oip.Limits) {
	s.RegisterService(descriptor(), &service{backend: b, limits: limits.WithDefaults()})
}

// descriptor describes the service. The generated one cannot be used: it reads whole messages before interceptors run.
func descriptor() *grpc.ServiceDesc {
	stream := func(call func(*service, grpc.ServerStream) error) grpc.StreamHandler {
		return func(s any, stream grpc.ServerStream) error { return call(s.(*service), stream) }
	}
	d := GRPCInferenceService_ServiceDesc
	d.Methods = []grpc.MethodDesc{
		method("ServerLive", (*service).ServerLive),
		method("ServerReady", (*service).ServerReady),
		method("ModelReady", (*service).ModelReady),
		method("ServerMetadata", (*service).ServerMetadata),
		method("ModelMetadata", (*service).ModelMetadata),
		method("ModelConfig", (*service).ModelConfig),
		method("ModelStatistics", (*service).ModelStatistics),
		method("RepositoryIndex", (*service).RepositoryIndex),
		method("RepositoryModelLoad", (*service).RepositoryModelLoad),
		method("RepositoryModelUnload", (*service).RepositoryModelUnload),
	}
	d.Streams = []grpc.StreamDesc{
		// Without ServerStreams, no interceptor would run: package grpc expects them to be called by the handler.
		{StreamName: "ModelInfer", Handler: stream((*service).modelInfer), ServerStreams: true},
		{StreamName: "ModelStreamInfer", Handler: stream((*service).modelStreamInfer), ServerStreams: true,
			ClientStreams: true},
	}
	return &d
}

// method describes a call with one small message in each direction.
func method[Q any, In interface {
	*Q
	proto.Message
}, Out any](name string, call func(*service, context.Context, In) (Out, error)) grpc.MethodDesc {
	path := "/" + GRPCInferenceService_ServiceDesc.ServiceName + "/" + name
	return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, decode func(any) error,
		interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := small{Message: In(new(Q))}
		handler := func(ctx context.Context, _ any) (any, error) {
			if err := decode(&in); err != nil {
				return nil, err
			}
			if in.err != nil {
				return nil, in.err
			}
			return call(srv.(*service), ctx, in.Message.(In))
		}
		if interceptor == nil {
			return handler(ctx, in.Message)
		}
		return interceptor(ctx, in.Message, &grpc.UnaryServerInfo{Server: srv, FullMethod: path}, handler)
	}}
}

// maxSmall is the size in bytes of the greatest message without tensors. Maps and lists take more memory than their
// messages, so that the limit of the server would be too much.
const maxSmall = 64 << 10

// small is a message without tensors.
type small struct {
	proto.Message
	err error // the message is too large
}

// Reset and ProtoReflect make it a message with a limit.
func (s *small) Reset() { proto.Reset(s.Message) }

func (s *small) ProtoReflect() protoreflect.Message {
	return reader(s, s.Message, func(b []byte) error {
		if len(b) > maxSmall {
			s.err = status.Errorf(codes.ResourceExhausted, "the message has %d bytes, this call accepts %d", len(b), maxSmall)
			return nil
		}
		return proto.Unmarshal(b, s.Message)
	})
}

// RegisterHealth makes a server of gRPC answer the calls of grpc.health.v1, for the server ("") and for
// GRPCInferenceService. It is called before Serve. It returns a function that sets whether they accept requests, which
// they do not at first; clients that watch them are told.
//
// A client that watches keeps its call open: GracefulStop waits for it.
func RegisterHealth(s grpc.ServiceRegistrar) (setReady func(ready bool)) {
	h := health.NewServer()
	grpc_health_v1.RegisterHealthServer(s, h)
	setReady = func(ready bool) {
		state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if ready {
			state = grpc_health_v1.HealthCheckResponse_SERVING
		}
		for _, service := range []string{"", GRPCInferenceService_ServiceDesc.ServiceName} {
			h.SetServingStatus(service, state)
		}
	}
	setReady(false)
	return setReady
}

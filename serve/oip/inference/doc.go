// Package inference is the Open Inference Protocol in gRPC: the messages and the service GRPCInferenceService of
// inference.proto, and [Register], which answers its calls with a server of models (oip.Backend). Clients of KServe and
// of NVIDIA's Triton can use it. Package oip has the same protocol in HTTP.
//
//	s := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
//	inference.Register(s, backend, oip.Limits{})
//	setReady := inference.RegisterHealth(s)
//
// A client uses [NewGRPCInferenceServiceClient] and the generated messages. The server does not: it reads a
// ModelInferRequest directly into the memory of tensors (request.go), within limits, and writes a response directly
// from theirs (response.go), so that elements are copied once.
//
// The messages have the names of the published interface. A program that also imports another Go package with messages
// of these names (a client of KServe, say) ends when it starts, unless GOLANG_PROTOBUF_REGISTRATION_CONFLICT=warn is in
// its environment.
package inference

//go:generate go run -C ../../../build/gen/proto .

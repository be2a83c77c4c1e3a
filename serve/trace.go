package serve

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"tvmgo/serve/queue"
)

// carrier gives the propagator the header traceparent of a call by gRPC.
type carrier metadata.MD

// Get returns a value of the metadata.
func (c carrier) Get(key string) string {
	if list := metadata.MD(c).Get(key); len(list) > 0 {
		return list[0]
	}
	return ""
}

// Set is for the other direction.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys lists the names of the metadata.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

var propagator = propagation.TraceContext{}

// traceparent returns a context with the span that the client names, in a header of HTTP or the metadata of gRPC.
func (s *Server) traceparent(ctx context.Context, header http.Header) context.Context {
	if s.options.Tracer == nil {
		return ctx
	}
	if header != nil {
		return propagator.Extract(ctx, propagation.HeaderCarrier(header))
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return propagator.Extract(ctx, carrier(md))
}

// span starts the span of a request, if spans are wanted, and returns what ends it. The times in the queue and in the
// model are spans of their own below it.
func (s *Server) span(ctx context.Context, name string) (context.Context, func(queue.Times, error)) {
	if s.options.Tracer == nil {
		return ctx, func(queue.Times, error) {}
	}
	tracer := s.options.Tracer.Tracer("tvmgo/serve")
	ctx, span := tracer.Start(ctx, "infer "+name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("tvmgo.model", name)))
	return ctx, func(t queue.Times, err error) {
		if !t.Started.IsZero() {
			_, waited := tracer.Start(ctx, "queue", trace.WithTimestamp(t.Queued))
			waited.End(trace.WithTimestamp(t.Started))
		}
		if !t.Finished.IsZero() {
			_, computed := tracer.Start(ctx, "compute", trace.WithTimestamp(t.Started))
			computed.End(trace.WithTimestamp(t.Finished))
		}
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

package daemon

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Spans sends OpenTelemetry's spans to a collector, in the background.
type Spans struct{ *sdk.TracerProvider }

// NewSpans sends spans to a collector by OTLP over HTTP: http://localhost:4318. It does not wait for the collector.
func NewSpans(ctx context.Context, url string) (*Spans, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url))
	if err != nil {
		return nil, err
	}
	what := resource.NewSchemaless(attribute.String("service.name", "tvmgo"))
	return &Spans{sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(what))}, nil
}

// Close sends what is left, for five seconds at most.
func (s *Spans) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}

package daemon

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Spans sends OpenTelemetry's spans to a collector, in the background.
type Spans struct{ *sdk.TracerProvider }

// NewSpans sends spans to a collector by OTLP over HTTP: http://localhost:4318. The path is /v1/traces if the URL has
// none. NewSpans does not wait for the collector.
func NewSpans(ctx context.Context, address string) (*Spans, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no URL of a collector: want one such as http://localhost:4318", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
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

package serve

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/serve/oip"
)

// Options are the options of a server. Only Models is needed.
type Options struct {
	// Models are the sources of models: [NAME=]FILE[:FUNCTION], or a folder with libraries. See ParseSource.
	Models []string
	// Model has the options of every model. A file NAME.json beside the library NAME.so overrides them.
	Model ModelOptions
	// Load are options for loading libraries, such as [runtime.WithTrust].
	Load   []runtime.LoadOption
	Limits Limits
	// Tokens are the accepted bearer tokens. Without any, every client is accepted. Liveness and readiness need none.
	Tokens []string
	// Watch reloads models whose files change.
	Watch bool
	// Profiling allows clients to record traces of requests.
	Profiling bool
	// Tracer makes OpenTelemetry's spans of requests; nil: there are none.
	Tracer trace.TracerProvider
	// Logger gets what happens to models, and failed requests; nil: slog.Default().
	Logger *slog.Logger

	before func(*loaded) error // called before a model is, by tests; nil: nothing
}

// ModelOptions are the options of a model. In JSON, durations are texts such as "5ms".
type ModelOptions struct {
	Devices   []dlpack.Device `json:"devices,omitempty"`   // each has a copy of the model; nil: the model's default
	Instances int             `json:"instances,omitempty"` // calls at a time on each device; 0: 1
	// MaxBatch is the most rows of a batch; 0 or 1: requests run alone. Models whose first dimension is fixed, and
	// functions without a batch dimension, never run in batches.
	MaxBatch  int      `json:"max_batch,omitempty"`
	Preferred []int    `json:"preferred_batches,omitempty"` // rows with which a batch does not wait for more
	Delay     Duration `json:"batch_delay,omitempty"`       // the longest time that a request waits for others
	Queue     int      `json:"queue,omitempty"`             // the most requests that wait; 0: 256
	Timeout   Duration `json:"queue_timeout,omitempty"`     // the longest time in the queue; 0: no limit
	// Priorities is the number of priorities, 1 being the first; 0: 1. Requests without one have Priority; 0: the one in
	// the middle.
	Priorities int    `json:"priorities,omitempty"`
	Priority   int    `json:"default_priority,omitempty"`
	Params     string `json:"params,omitempty"`   // a file of weights
	Function   string `json:"function,omitempty"` // "": main, or the only one
	// Outputs names the arguments that a function writes, if its signature does not say.
	Outputs []string `json:"outputs,omitempty"`
	Memory  int64    `json:"memory,omitempty"` // bytes that calls may use at a time; 0: no limit
}

// Limits bound what a client may ask for. 0 is the default.
type Limits struct {
	BodyBytes   int64         // of a request, uncompressed: oip.DefaultBodyBytes
	TensorBytes int64         // of an input: BodyBytes
	Inputs      int           // of a request: oip.DefaultInputs
	Dims        int           // of a shape: oip.DefaultDims
	Time        time.Duration // to read a request, and to write its response: 1 minute each
	Answer      time.Duration // from the request to its response: no limit
}

const (
	defaultTime  = time.Minute
	defaultQueue = 256
)

func (l Limits) check() error {
	for what, n := range map[string]int64{"BodyBytes": l.BodyBytes, "TensorBytes": l.TensorBytes,
		"Inputs": int64(l.Inputs), "Dims": int64(l.Dims), "Time": int64(l.Time), "Answer": int64(l.Answer)} {
		if n < 0 {
			return fmt.Errorf("the limit %s is %d: it cannot be negative", what, n)
		}
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	if l.BodyBytes == 0 {
		l.BodyBytes = oip.DefaultBodyBytes
	}
	if l.TensorBytes == 0 {
		l.TensorBytes = l.BodyBytes
	}
	if l.Time == 0 {
		l.Time = defaultTime
	}
	return l
}

func (l Limits) oip() oip.Limits {
	return oip.Limits{BodyBytes: l.BodyBytes, TensorBytes: l.TensorBytes, Inputs: l.Inputs, Dims: l.Dims}
}

// check reports values that no model can have.
func (o *ModelOptions) check() error {
	for what, n := range map[string]int{"instances": o.Instances, "max_batch": o.MaxBatch, "queue": o.Queue,
		"priorities": o.Priorities, "default_priority": o.Priority} {
		if n < 0 {
			return fmt.Errorf("%s is %d: it cannot be negative", what, n)
		}
	}
	for _, n := range o.Preferred {
		if n < 1 || n > max(o.MaxBatch, 1) {
			return fmt.Errorf("preferred_batches has %d: want numbers from 1 to max_batch (%d)", n, max(o.MaxBatch, 1))
		}
	}
	if o.Priority > max(o.Priorities, 1) {
		return fmt.Errorf("default_priority is %d: want one of the %d priorities", o.Priority, max(o.Priorities, 1))
	}
	if o.Delay < 0 || o.Timeout < 0 {
		return fmt.Errorf("batch_delay and queue_timeout cannot be negative")
	}
	return nil
}

// Duration is a time.Duration that JSON has as a text: "5ms".
type Duration time.Duration

// MarshalText returns the text that time.ParseDuration reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a text such as "5ms".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

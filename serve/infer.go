package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"tvmgo/runtime"
	"tvmgo/serve/oip"
	"tvmgo/serve/queue"
)

// Alloc makes the memory of an input: a tensor of the runtime, which is Owner. Release frees it.
func (s *Server) Alloc(t *oip.Tensor) error {
	tensor, err := runtime.NewTensor(t.DType, t.Shape, runtime.CPU)
	if err != nil {
		return oip.Errorf(oip.InvalidArgument, "input %q: %w", t.Name, err)
	}
	data, err := tensor.Bytes()
	if err != nil {
		tensor.Close()
		return oip.Errorf(oip.Internal, "input %q: %w", t.Name, err)
	}
	t.Data, t.Owner = data, tensor
	return nil
}

// Release frees what Alloc and Infer made.
func (s *Server) Release(list []oip.Tensor) {
	for i := range list {
		if t, ok := list[i].Owner.(*runtime.Tensor); ok {
			t.Close()
		}
		list[i].Owner, list[i].Data = nil, nil
	}
}

// Infer answers a request, whose inputs Alloc made. It releases them, also if it fails; the caller releases the
// outputs.
func (s *Server) Infer(ctx context.Context, r *oip.Request) (_ *oip.Response, err error) {
	start := time.Now()
	defer s.withoutPanic("infer "+r.Model, &err)
	if s.limits.Answer > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limits.Answer)
		defer cancel()
	}
	ctx, end := s.span(ctx, r.Model)
	e, l, out, times, err := s.compute(ctx, r)
	s.Release(r.Inputs)
	var response *oip.Response
	if err == nil {
		if response, err = l.response(r, out); err != nil {
			closeAll(out)
		}
	}
	err = asError(err, oip.Internal)
	s.metrics.request(e, start, times, err)
	end(times, err)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// withoutPanic makes a panic, which is a bug, an error. It is for requests on goroutines that a panic would end with
// the process.
func (s *Server) withoutPanic(what string, err *error) {
	if v := recover(); v != nil {
		s.log.Error("a panic", "in", what, "panic", v, "stack", string(debug.Stack()))
		*err = oip.Errorf(oip.Internal, "internal error")
	}
}

// compute runs the model of a request. It returns the entry, if there is one, and the model that took the request, if
// any did.
func (s *Server) compute(ctx context.Context, r *oip.Request) (e *entry, l *loaded, out []*runtime.Tensor,
	times queue.Times, err error) {
	if e, l, err = s.enter(r.Model, r.Version); err != nil {
		return e, nil, nil, times, err
	}
	defer l.leave()
	in, err := l.inputs(r)
	if err == nil {
		out, times, err = l.submit(ctx, r, in)
	}
	return e, l, out, times, err
}

// enter returns a model that takes a request, which leaves it when it is answered.
func (s *Server) enter(name, version string) (*entry, *loaded, error) {
	for {
		e, l, err := s.serving(name, version)
		if err != nil || l.enter() {
			return e, l, err
		}
		// it was replaced in between: there is another one, or none
	}
}

// inputs returns the inputs of a request in the order of the model, which it takes from the
// request.
func (l *loaded) inputs(r *oip.Request) (_ inputs, err error) {
	in := make(inputs, len(l.meta.Inputs))
	defer func() {
		if err != nil {
			closeAll(in)
		}
	}()
	for i := range r.Inputs {
		t := &r.Inputs[i]
		at, known := l.index[t.Name]
		if !known {
			return nil, oip.Errorf(oip.InvalidArgument, "model %q has no input %q: its inputs are %s", l.name, t.Name,
				names(l.meta.Inputs))
		}
		tensor, ok := t.Owner.(*runtime.Tensor)
		if !ok || in[at] != nil {
			return nil, oip.Errorf(oip.InvalidArgument, "input %q comes twice", t.Name)
		}
		in[at], t.Owner, t.Data = tensor, nil, nil
	}
	for i, t := range in {
		if t == nil {
			return nil, oip.Errorf(oip.InvalidArgument, "model %q needs input %q: its inputs are %s", l.name,
				l.meta.Inputs[i].Name, names(l.meta.Inputs))
		}
	}
	if err := l.models[0].Check(in); err != nil {
		return nil, oip.Errorf(oip.InvalidArgument, "%w", err)
	}
	if err := l.checkOutputs(r); err != nil {
		return nil, err
	}
	return in, nil
}

func names(list []oip.TensorMetadata) string {
	var all []string
	for _, t := range list {
		all = append(all, fmt.Sprintf("%q", t.Name))
	}
	return strings.Join(all, ", ")
}

// submit waits in the queue and for the model. The queue takes the inputs over.
func (l *loaded) submit(ctx context.Context, r *oip.Request, in inputs) ([]*runtime.Tensor, queue.Times, error) {
	q := queue.Request[inputs]{In: in, Rows: 1, Priority: int(min(r.Priority, math.MaxInt32)), Timeout: r.Timeout}
	if l.batches {
		q.Key, q.Rows = l.models[0].Key(in)
	}
	return l.queue.Do(ctx, q)
}

func (l *loaded) checkOutputs(r *oip.Request) error {
	for i, want := range r.Outputs {
		if l.output(want.Name) < 0 {
			return oip.Errorf(oip.InvalidArgument, "model %q has no output %q: its outputs are %s", l.name, want.Name,
				names(l.meta.Outputs))
		}
		for _, other := range r.Outputs[:i] {
			if other.Name == want.Name {
				return oip.Errorf(oip.InvalidArgument, "output %q is requested twice", want.Name)
			}
		}
	}
	return nil
}

func (l *loaded) output(name string) int {
	for i := range l.meta.Outputs {
		if l.meta.Outputs[i].Name == name {
			return i
		}
	}
	return -1
}

// response has the outputs that were requested. It closes the others, and takes the tensors over if it succeeds.
func (l *loaded) response(r *oip.Request, out []*runtime.Tensor) (*oip.Response, error) {
	p := &oip.Response{Model: l.name, Version: theVersion, ID: r.ID}
	wanted := make([]int, 0, len(out))
	for _, o := range r.Outputs {
		wanted = append(wanted, l.output(o.Name))
	}
	if len(r.Outputs) == 0 {
		for i := range out {
			wanted = append(wanted, i)
		}
	}
	used := make([]bool, len(out))
	for _, i := range wanted {
		data, err := out[i].Bytes()
		if err != nil {
			return nil, err
		}
		used[i] = true
		p.Outputs = append(p.Outputs, oip.Tensor{Name: l.meta.Outputs[i].Name, DType: out[i].DType(), Shape: out[i].Shape(),
			Data: data, Owner: out[i]})
	}
	for i, t := range out {
		if !used[i] {
			t.Close()
		}
	}
	return p, nil
}

// asError returns an error of the protocol for any error.
func asError(err error, otherwise oip.Code) error {
	var known *oip.Error
	var full *queue.FullError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &full):
		return &oip.Error{Code: oip.ResourceExhausted, Message: err.Error(), RetryAfter: full.RetryAfter, Err: err}
	case errors.Is(err, queue.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return oip.Errorf(oip.DeadlineExceeded, "%w", err)
	case errors.Is(err, context.Canceled):
		return oip.Errorf(oip.Canceled, "%w", err)
	case errors.Is(err, queue.ErrClosed):
		return oip.Errorf(oip.Unavailable, "the model is being unloaded, or the server stops")
	case errors.Is(err, runtime.ErrOutOfMemory):
		return &oip.Error{Code: oip.Unavailable, Message: err.Error(), RetryAfter: time.Second, Err: err}
	case errors.Is(err, runtime.ErrInvalidArgument):
		return oip.Errorf(oip.InvalidArgument, "%w", err)
	}
	return oip.Errorf(otherwise, "%w", err)
}

package serve

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"tvmgo/runtime"
	"tvmgo/serve/oip"
)

// profiling records the next calls of a model.
type profiling struct {
	profile *runtime.Profile
	left    chan struct{} // has a value for each call that may still be recorded
	ended   chan struct{} // gets a value for each that was
}

// traced returns the context for a call of the model, and what ends it.
func (l *loaded) traced() (context.Context, func()) {
	ctx := context.Background() // a call that has begun cannot be cancelled
	p := l.profile.Load()
	if p == nil {
		return ctx, func() {}
	}
	select {
	case <-p.left:
		return runtime.WithProfile(ctx, p.profile), func() { p.ended <- struct{}{} }
	default:
		return ctx, func() {}
	}
}

// record answers POST /v2/models/NAME/profile?calls=N with a trace of the next N calls of a model, for
// https://ui.perfetto.dev. It waits for them.
func (s *Server) record(w http.ResponseWriter, r *http.Request) error {
	const most = 1000
	calls := 1
	if text := r.URL.Query().Get("calls"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return oip.Errorf(oip.InvalidArgument, "calls=%s: want a number from 1 to %d", text, most)
		}
		calls = n
	}
	_, l, err := s.serving(r.PathValue("model"), "")
	if err != nil {
		return err
	}
	p := &profiling{left: make(chan struct{}, calls), ended: make(chan struct{}, calls)}
	if p.profile, err = runtime.NewProfile(); err != nil {
		return err
	}
	for range calls {
		p.left <- struct{}{}
	}
	if !l.profile.CompareAndSwap(nil, p) {
		return oip.Errorf(oip.Unavailable, "model %q is being recorded already: try again later", l.name)
	}
	defer l.profile.Store(nil)
	for range calls {
		select {
		case <-p.ended:
		case <-r.Context().Done():
			return r.Context().Err()
		case <-s.ending:
			return oip.Errorf(oip.Unavailable, "the server stops")
		}
	}
	var trace bytes.Buffer
	if err := p.profile.WriteTrace(&trace); err != nil {
		return err
	}
	s.boundWrite(w)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="trace.json"`)
	_, err = w.Write(trace.Bytes())
	return err
}

package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/serve/model"
	"tvmgo/serve/oip"
	"tvmgo/serve/queue"
)

// loaded is a model that answers requests: copies of a library on devices, and the queue in front of them. A changed
// file becomes another one; the old one answers what it has accepted, and is then closed.
type loaded struct {
	*definition
	models  []*model.Model // one for each device
	queue   *queue.Queue[inputs, []*runtime.Tensor]
	meta    oip.Metadata
	index   map[string]int // of the inputs, by name
	metrics *modelMetrics  // of the name: older ones have counted, too
	profile atomic.Pointer[profiling]
	batches bool
	before  func(*loaded) error // Options.before

	mu       sync.Mutex
	requests int           // that have entered
	retired  bool          // no more enter
	idle     chan struct{} // closed when it is retired and all have left
}

// enter reports whether the model takes a request, which then leaves it.
func (l *loaded) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.retired {
		l.requests++
	}
	return !l.retired
}

func (l *loaded) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests--; l.retired && l.requests == 0 {
		close(l.idle)
	}
}

// retire lets no more requests enter.
func (l *loaded) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.retired && l.requests == 0 {
		close(l.idle)
	}
	l.retired = true
}

// inputs are those of a request, in the order of the model.
type inputs []*runtime.Tensor

// batch is what a worker gets.
type batch []*queue.Item[inputs, []*runtime.Tensor]

func (b batch) rows() (n int) {
	for _, item := range b {
		n += item.Rows
	}
	return n
}

func closeAll(list []*runtime.Tensor) {
	for _, t := range list {
		if t != nil {
			t.Close()
		}
	}
}

// load loads a model and calls it once, so that its first request is as fast as any other.
func (d *definition) load(ctx context.Context, s *Server, m *modelMetrics) (_ *loaded, err error) {
	l := &loaded{definition: d, index: map[string]int{}, idle: make(chan struct{}), metrics: m, before: s.options.before}
	defer func() {
		if err != nil {
			l.closeModels()
		}
	}()
	devices := d.options.Devices
	if len(devices) == 0 {
		devices = []dlpack.Device{{}} // the model's default
	}
	for _, on := range devices {
		m, err := model.Load(ctx, d.path, model.Options{Function: d.options.Function, Device: on, Params: d.options.Params,
			Outputs: d.options.Outputs, Load: s.loadOptions(), Memory: d.options.Memory})
		if err != nil {
			return nil, err
		}
		l.models = append(l.models, m)
		if err := m.Warm(ctx); errors.Is(err, runtime.ErrNotSupported) {
			s.log.Debug("a model was not tried: its sizes are not known", "model", d.name, "error", err)
		} else if err != nil {
			return nil, fmt.Errorf("try model %s: %w", d.name, err)
		}
	}
	l.describe()
	return l, l.start()
}

// describe makes the metadata of the first model, which is that of all.
func (l *loaded) describe() {
	m := l.models[0]
	l.batches = m.Batches() && l.options.MaxBatch > 1
	l.meta = oip.Metadata{Name: l.name, Versions: []string{theVersion}, Platform: m.Platform()}
	for i, v := range m.Inputs() {
		l.index[v.Name] = i
		l.meta.Inputs = append(l.meta.Inputs, oip.TensorMetadata{Name: v.Name, DType: v.DType, Shape: v.Shape})
	}
	for _, v := range m.Outputs() {
		l.meta.Outputs = append(l.meta.Outputs, oip.TensorMetadata{Name: v.Name, DType: v.DType, Shape: v.Shape})
	}
}

// start makes the queue and its workers.
func (l *loaded) start() (err error) {
	o := &l.options
	c := queue.Config{Capacity: l.capacity(), Preferred: o.Preferred, Delay: time.Duration(o.Delay),
		Priorities: o.Priorities, DefaultPriority: o.Priority, Timeout: time.Duration(o.Timeout), Inline: true}
	if l.batches {
		c.MaxRows = o.MaxBatch
	} else {
		c.Preferred, c.Delay = nil, 0
	}
	f := queue.Functions[inputs, []*runtime.Tensor]{
		Release: func(in inputs) { closeAll(in) }, Discard: func(out []*runtime.Tensor) { closeAll(out) }}
	for range max(o.Instances, 1) {
		for _, m := range l.models {
			f.Workers = append(f.Workers, func(b []*queue.Item[inputs, []*runtime.Tensor]) { l.compute(m, b) })
		}
	}
	l.queue, err = queue.New(c, f)
	return err
}

// compute answers a batch. If it fails as a whole, each request runs alone, so that it fails for its own reason only.
func (l *loaded) compute(m *model.Model, b batch) {
	ctx, done := l.traced()
	defer done()
	if l.before != nil {
		if err := l.before(l); err != nil {
			for _, item := range b {
				item.Fail(err)
			}
			return
		}
	}
	if len(b) > 1 {
		requests := make([][]*runtime.Tensor, len(b))
		for i, item := range b {
			requests[i] = item.In
		}
		start := time.Now()
		if outputs, err := m.RunBatch(ctx, requests); err == nil {
			l.metrics.executed(b.rows(), time.Since(start))
			for i, item := range b {
				item.Answer(outputs[i])
			}
			return
		}
	}
	for _, item := range b {
		start := time.Now()
		out, err := m.Run(ctx, item.In)
		l.metrics.executed(item.Rows, time.Since(start))
		if err != nil {
			item.Fail(err)
		} else {
			item.Answer(out)
		}
	}
}

// answered reports whether a model that was retired has answered all requests.
func (l *loaded) answered() bool {
	select {
	case <-l.idle:
		return true
	default:
		return false
	}
}

// finish answers what was accepted, until the context ends, and closes the models.
func (l *loaded) finish(ctx context.Context) error {
	l.retire()
	select {
	case <-l.idle:
	case <-ctx.Done():
	}
	err := l.queue.Drain(ctx)
	if l.answered() {
		err = nil // only the workers have to end
	}
	l.queue.Close() // fails what still waits, and waits for what runs
	return errors.Join(err, l.closeModels())
}

func (l *loaded) closeModels() error {
	var errs []error
	for _, m := range l.models {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

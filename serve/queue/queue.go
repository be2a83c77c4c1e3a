package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Queue is a queue and its workers. Its methods may be called from any goroutine.
type Queue[I, O any] struct {
	config    Config
	functions Functions[I, O]
	items     sync.Pool     // *Item
	ended     chan struct{} // closed when all workers have ended

	mu      sync.Mutex // guards what follows
	closed  bool
	waiting int
	running int
	alive   int // workers whose goroutine has not ended
	levels  []list[I, O]

	keys     map[string]*group[I, O] // of groups with a key
	groups   *group[I, O]            // all groups, in no order
	nGroups  int
	unused   *group[I, O]
	idle     *worker[I, O] // the last one to become idle is the first to work
	nIdle    int
	timer    *time.Timer   // calls tick when the first group is due
	timerAt  time.Time     // when; zero: never
	itemTime time.Duration // average time that a worker takes for an item
}

// Stats is the state of a queue at one moment.
type Stats struct {
	Waiting int // items
	Running int // items
	Busy    int // workers
	Workers int
}

// New starts the workers. Call Close or Drain to end them.
func New[I, O any](c Config, f Functions[I, O]) (*Queue[I, O], error) {
	c, err := c.complete()
	if err == nil && len(f.Workers) == 0 {
		err = errors.New("expected at least 1 worker, got none")
	}
	if err != nil {
		return nil, fmt.Errorf("make a queue: %w", err)
	}
	if f.Release == nil {
		f.Release = func(I) {}
	}
	if f.Discard == nil {
		f.Discard = func(O) {}
	}
	q := &Queue[I, O]{config: c, functions: f, ended: make(chan struct{}), alive: len(f.Workers),
		levels: make([]list[I, O], c.Priorities), keys: map[string]*group[I, O]{}}
	q.items.New = func() any { return &Item[I, O]{done: make(chan struct{}, 1)} }
	for i := len(f.Workers) - 1; i >= 0; i-- {
		w := &worker[I, O]{index: i, run: f.Workers[i], wake: make(chan struct{}, 1)}
		q.rest(w)
		go q.work(w)
	}
	return q, nil
}

// Do waits for the result of an item. The queue owns the input until it calls Functions.Release. The caller owns the
// result; it is zero if there is an error, which is one of the worker's, of the context, ErrFull (a *FullError),
// ErrTimeout or ErrClosed.
func (q *Queue[I, O]) Do(ctx context.Context, r Request[I]) (O, Times, error) {
	it := q.items.Get().(*Item[I, O])
	it.In, it.Rows, it.ctx, it.key = r.In, r.Rows, ctx, r.Key
	if err := ctx.Err(); err != nil {
		return q.answer(it, err)
	}
	var then after[I, O]
	q.mu.Lock()
	now := time.Now() // with the lock, so that an item is not older than what was queued before
	it.times.Queued = now
	err := q.admit()
	if err == nil {
		q.place(it, r)
		q.push(it)
		q.dispatch(now, &then)
	}
	own := q.own(it, &then)
	q.mu.Unlock()
	q.finish(&then)
	if err != nil {
		return q.answer(it, err)
	}
	if own != nil {
		run(own)
		q.ran(own)
		<-it.done
		return q.answer(it, it.err)
	}
	return q.wait(it)
}

// own returns the worker whose batch is this item alone, which then is not woken, if Do may run it. It calls for the
// lock.
func (q *Queue[I, O]) own(it *Item[I, O], then *after[I, O]) *worker[I, O] {
	w := then.workers
	if !q.config.Inline || it.state != running || w == nil || w.next != nil || len(w.batch) != 1 || w.batch[0] != it {
		return nil
	}
	if _, limited := it.ctx.Deadline(); limited {
		return nil
	}
	then.workers = nil
	return w
}

// place decides where in the queue an item belongs, and how long it may be there.
func (q *Queue[I, O]) place(it *Item[I, O], r Request[I]) {
	it.weight = r.Rows
	if r.Key == "" || r.Rows < 1 || r.Rows > q.config.MaxRows {
		it.weight = q.config.MaxRows
	}
	it.level = min(r.Priority, q.config.Priorities) - 1
	if r.Priority <= 0 {
		it.level = q.config.DefaultPriority - 1
	}
	it.timeout = q.config.Timeout
	if r.Timeout > 0 && (it.timeout == 0 || r.Timeout < it.timeout) {
		it.timeout = r.Timeout
	}
	if it.timeout > 0 {
		it.deadline = it.times.Queued.Add(it.timeout)
	}
	if q.config.Delay == 0 {
		return
	}
	delay := q.config.Delay
	if it.timeout > 0 {
		delay = min(delay, it.timeout/2)
	}
	if at, limited := it.ctx.Deadline(); limited {
		delay = min(delay, at.Sub(it.times.Queued)/2)
	}
	it.due = it.times.Queued.Add(delay)
}

// admit returns the error of an item that must not wait.
func (q *Queue[I, O]) admit() error {
	switch {
	case q.closed:
		return ErrClosed
	case q.waiting >= q.config.Capacity:
		return &FullError{Waiting: q.waiting, RetryAfter: q.retryAfter()}
	}
	return nil
}

// wait waits for the answer of an item, or until its time is over.
func (q *Queue[I, O]) wait(it *Item[I, O]) (out O, times Times, err error) {
	var expired <-chan time.Time
	if it.timeout > 0 {
		if it.timer == nil {
			it.timer = time.NewTimer(it.timeout)
		} else {
			it.timer.Reset(it.timeout)
		}
		expired = it.timer.C
	}
	ctx := it.ctx
	for {
		select {
		case <-it.done:
			return q.answer(it, it.err)
		case <-expired:
			if q.withdraw(it) {
				return q.answer(it, timeoutError(it.timeout))
			}
			// A worker has it.
		case <-ctx.Done():
			if q.withdraw(it) {
				return q.answer(it, ctx.Err())
			}
			if times, left := q.abandon(it); left {
				return out, times, ctx.Err()
			}
			<-it.done // the answer is on its way
			return q.answer(it, it.err)
		}
	}
}

// answer ends an item that neither the lists nor a worker has: it returns what Do returns.
func (q *Queue[I, O]) answer(it *Item[I, O], err error) (out O, times Times, _ error) {
	times = it.times
	if err == nil {
		out, it.hasOut = it.out, false
	}
	q.recycle(it)
	return out, times, err
}

// recycle releases the input of an item, discards its result, and keeps the item for another request.
func (q *Queue[I, O]) recycle(it *Item[I, O]) {
	in, out, hasOut := it.In, it.out, it.hasOut
	if it.timeout > 0 && it.timer != nil {
		it.timer.Stop()
	}
	*it = Item[I, O]{done: it.done, timer: it.timer}
	q.items.Put(it)
	if hasOut {
		q.functions.Discard(out)
	}
	q.functions.Release(in)
}

// withdraw removes an item that waits, and reports whether it did.
func (q *Queue[I, O]) withdraw(it *Item[I, O]) bool {
	var then after[I, O]
	q.mu.Lock()
	waits := it.state == waiting
	if waits {
		q.unlink(it)
		q.dispatch(time.Now(), &then) // lets the workers go if it was the last one
	}
	q.mu.Unlock()
	q.finish(&then)
	return waits
}

// abandon leaves an item that runs to its worker, and reports whether it did.
func (q *Queue[I, O]) abandon(it *Item[I, O]) (times Times, left bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it.state != running {
		return times, false
	}
	it.state = abandoned
	return it.times, true
}

// Stats returns how much waits and runs.
func (q *Queue[I, O]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Waiting: q.waiting, Running: q.running, Busy: q.alive - q.nIdle, Workers: len(q.functions.Workers)}
}

// Drain lets no new items in, and waits until the others have their answers and the workers have ended. If the context
// ends before, it returns the context's error; the items go on, and Close fails those that still wait. A worker must
// not call it.
func (q *Queue[I, O]) Drain(ctx context.Context) error {
	q.close(nil)
	select {
	case <-q.ended:
		return nil
	default:
	}
	select {
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close lets no new items in, fails those that wait with ErrClosed, and waits until the workers have ended, each with
// the batch that it runs. A worker must not call it.
func (q *Queue[I, O]) Close() {
	q.close(ErrClosed)
	<-q.ended
}

// close lets no new items in; an error is the answer of those that wait.
func (q *Queue[I, O]) close(err error) {
	var then after[I, O]
	q.mu.Lock()
	q.closed = true
	for l := range q.levels {
		for it := q.levels[l].head; it != nil && err != nil; it = q.levels[l].head {
			q.drop(it, err, &then)
		}
	}
	q.dispatch(time.Now(), &then)
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	q.finish(&then)
}

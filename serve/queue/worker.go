package queue

import (
	"errors"
	"fmt"
	"time"

	"tvmgo/internal/gopanic"
)

// worker is one of Functions.Workers.
type worker[I, O any] struct {
	index int
	run   func([]*Item[I, O])
	wake  chan struct{} // gets a value when there is a batch; the worker ends if that is empty
	batch []*Item[I, O] // empty while the worker is idle
	next  *worker[I, O] // in a list of workers
}

// rest adds a worker to those that are idle.
func (q *Queue[I, O]) rest(w *worker[I, O]) {
	w.next, q.idle = q.idle, w
	q.nIdle++
}

// unrest removes the worker that should work next from those that are idle.
func (q *Queue[I, O]) unrest() *worker[I, O] {
	w := q.idle
	w.next, q.idle = nil, w.next
	q.nIdle--
	return w
}

// after is what remains to be done after the lock is released.
type after[I, O any] struct {
	workers  *worker[I, O] // to wake
	answers  list[I, O]    // items whose Do waits
	discards list[I, O]    // items whose Do has returned
}

func (a *after[I, O]) wake(w *worker[I, O]) { w.next, a.workers = a.workers, w }

// finish does what remains to be done.
func (q *Queue[I, O]) finish(then *after[I, O]) {
	for w := then.workers; w != nil; {
		next := w.next
		w.next = nil
		w.wake <- struct{}{} // has room: the worker was idle
		w = next
	}
	for it := then.answers.pop(); it != nil; it = then.answers.pop() {
		it.done <- struct{}{} // has room: an item has one answer
	}
	for it := then.discards.pop(); it != nil; it = then.discards.pop() {
		q.recycle(it)
	}
}

var errExit = errors.New("run a batch: the worker ended its goroutine (runtime.Goexit): return instead")

// work runs batches until the queue is closed.
func (q *Queue[I, O]) work(w *worker[I, O]) {
	runs := false
	defer func() {
		if runs { // the function called runtime.Goexit
			failRest(w.batch, errExit)
			q.ran(w)
			go q.work(w)
		}
	}()
	for {
		<-w.wake
		if len(w.batch) == 0 {
			break
		}
		runs = true
		run(w)
		runs = false
		q.ran(w)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.alive--; q.alive == 0 {
		close(q.ended)
	}
}

// run calls the worker's function. A panic becomes the error of the items.
func run[I, O any](w *worker[I, O]) {
	defer func() {
		if v := recover(); v != nil {
			failRest(w.batch, fmt.Errorf("run a batch of %d items: %w", len(w.batch), gopanic.New(v)))
		}
	}()
	w.run(w.batch)
	failRest(w.batch, errNoAnswer)
}

// failRest fails the items that have no answer.
func failRest[I, O any](batch []*Item[I, O], err error) {
	for _, it := range batch {
		if !it.hasOut && it.err == nil {
			it.err = err
		}
	}
}

// ran hands out the answers of a worker's batch, and makes the worker idle, unless there is another batch.
func (q *Queue[I, O]) ran(w *worker[I, O]) {
	var then after[I, O]
	q.mu.Lock()
	now := time.Now()
	q.measure(now.Sub(w.batch[0].times.Started), len(w.batch))
	q.running -= len(w.batch)
	for _, it := range w.batch {
		it.times.Finished = now
		if it.state == abandoned {
			then.discards.push(it)
		} else {
			it.state = answered
			then.answers.push(it)
		}
	}
	w.batch = w.batch[:0]
	q.rest(w)
	q.dispatch(now, &then)
	q.mu.Unlock()
	q.finish(&then)
}

// Bounds of FullError.RetryAfter, and its value while no batch has finished.
const (
	minRetry     = 5 * time.Millisecond
	maxRetry     = time.Minute
	unknownRetry = time.Second
)

// measure keeps the average time of an item, in which the last batch counts for an eighth.
func (q *Queue[I, O]) measure(batch time.Duration, items int) {
	item := max(batch/time.Duration(items), 1)
	if q.itemTime == 0 {
		q.itemTime = item
	}
	q.itemTime = max(q.itemTime+(item-q.itemTime)/8, 1)
}

// retryAfter estimates when half of the items that wait will have started.
func (q *Queue[I, O]) retryAfter() time.Duration {
	if q.itemTime == 0 {
		return unknownRetry
	}
	items := time.Duration(q.waiting/2 + 1)
	estimate := time.Duration(float64(q.itemTime) * float64(items) / float64(len(q.functions.Workers)))
	return min(max(estimate, minRetry), maxRetry).Round(time.Millisecond)
}

package queue

import (
	"context"
	"errors"
	"time"
)

// Request is an item for the queue.
type Request[I any] struct {
	In       I
	Key      string        // items with equal keys may run in one batch; "": alone
	Rows     int           // what the item adds to a batch
	Priority int           // 1 is the highest level; 0: the default, more than there are: the lowest
	Timeout  time.Duration // the longest time to wait for a worker; 0: Config.Timeout
}

// Times says when an item was queued, started and finished, and with what it ran. What did not happen before Do
// returned is zero.
type Times struct {
	Queued, Started, Finished time.Time

	Worker int // index of the worker
	Items  int // of the batch
	Rows   int // of the batch
}

// Wait is how long the item waited for a worker, 0 if it did not start.
func (t *Times) Wait() time.Duration { return span(t.Queued, t.Started) }

// Run is how long the worker took for the batch, 0 if Do did not wait for it.
func (t *Times) Run() time.Duration { return span(t.Started, t.Finished) }

func span(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return to.Sub(from)
}

// Item is a request in the hands of a worker, until the worker's function returns.
type Item[I, O any] struct {
	In   I
	Rows int

	ctx      context.Context
	out      O
	err      error
	hasOut   bool
	key      string
	weight   int // Rows, or Config.MaxRows for an item that runs alone
	level    int // from 0
	times    Times
	due      time.Time // until when its batch may wait for others
	deadline time.Time // until when it may wait for a worker; zero: no limit
	timeout  time.Duration

	state state // guarded by the queue's lock, as the lists are
	group *group[I, O]
	links [2]links[I, O] // in the list of the level, and in that of the group

	done  chan struct{} // gets one value when the state becomes answered
	timer *time.Timer   // nil, or stopped, unless Do waits with a timeout
}

// state says who owns an item.
type state uint8

const (
	waiting   state = iota // the queue
	running                // the worker, while Do waits
	answered               // Do
	abandoned              // the worker; Do has returned
)

var errNoAnswer = errors.New("the worker gave no answer")

// Context is the context of the Do that waits for the item. It may have ended.
func (it *Item[I, O]) Context() context.Context { return it.ctx }

// Answer sets the result, which Do returns after the worker's function has returned. Call it, or Fail, once.
func (it *Item[I, O]) Answer(out O) { it.out, it.hasOut = out, true }

// Fail sets the error that Do returns after the worker's function has returned. If there is a result already, it is
// discarded.
func (it *Item[I, O]) Fail(err error) { it.err = err }

// dead returns the error of an item whose time is over.
func (it *Item[I, O]) dead(now time.Time) error {
	if !it.deadline.IsZero() && !now.Before(it.deadline) {
		return timeoutError(it.timeout)
	}
	return it.ctx.Err()
}

// links are an item's neighbours in a list.
type links[I, O any] struct{ prev, next *Item[I, O] }

// list is a doubly linked list through the items; which is the index of their links.
type list[I, O any] struct {
	head, tail *Item[I, O]
	which      int
}

func (l *list[I, O]) push(it *Item[I, O]) {
	it.links[l.which] = links[I, O]{prev: l.tail}
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.links[l.which].next = it
	}
	l.tail = it
}

func (l *list[I, O]) remove(it *Item[I, O]) {
	at := it.links[l.which]
	if at.prev == nil {
		l.head = at.next
	} else {
		at.prev.links[l.which].next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		at.next.links[l.which].prev = at.prev
	}
	it.links[l.which] = links[I, O]{}
}

func (l *list[I, O]) pop() *Item[I, O] {
	it := l.head
	if it != nil {
		l.remove(it)
	}
	return it
}

package queue

import (
	"slices"
	"time"
)

// group are the items that wait with one key, in at least one level. An item with the key "" has one of its own.
type group[I, O any] struct {
	key        string
	levels     []list[I, O]
	items      int
	weight     int // of all items
	prev, next *group[I, O]
}

// Indices of an item's links.
const (
	inLevel = iota
	inGroup
)

// push appends an item to the lists of its level and its group.
func (q *Queue[I, O]) push(it *Item[I, O]) {
	g := q.keys[it.key] // none has the key ""
	if g == nil {
		g = q.unused
		if g == nil {
			g = &group[I, O]{levels: make([]list[I, O], len(q.levels))}
			for l := range g.levels {
				g.levels[l].which = inGroup
			}
		} else {
			q.unused = g.next
		}
		g.key, g.prev, g.next = it.key, nil, q.groups
		if g.next != nil {
			g.next.prev = g
		}
		q.groups = g
		q.nGroups++
		if g.key != "" {
			q.keys[g.key] = g
		}
	}
	it.state, it.group = waiting, g
	g.levels[it.level].push(it)
	g.items++
	g.weight += it.weight
	q.levels[it.level].push(it)
	q.waiting++
}

// unlink removes an item from its lists.
func (q *Queue[I, O]) unlink(it *Item[I, O]) {
	q.levels[it.level].remove(it)
	q.waiting--
	g := it.group
	it.group = nil
	g.levels[it.level].remove(it)
	g.items--
	g.weight -= it.weight
	if g.items > 0 {
		return
	}
	if g.prev == nil {
		q.groups = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next != nil {
		g.next.prev = g.prev
	}
	q.nGroups--
	if g.key != "" {
		delete(q.keys, g.key)
	}
	g.key, g.prev, g.next = "", nil, q.unused
	q.unused = g
}

// drop answers an item that waits with an error.
func (q *Queue[I, O]) drop(it *Item[I, O], err error, then *after[I, O]) {
	q.unlink(it)
	it.err, it.state = err, answered
	then.answers.push(it)
}

// dispatch gives batches to the idle workers, until no batch may start or no worker is idle. It is called after each
// change, so that no group waits for others longer than it should. Its time does not depend on the number of items
// that wait: it looks at less than MaxRows items of each group, and at all groups only if there are as many idle
// workers.
func (q *Queue[I, O]) dispatch(now time.Time, then *after[I, O]) {
	for q.idle != nil && q.waiting > 0 {
		g := q.next(now)
		if g == nil {
			return
		}
		q.start(g, now, then)
	}
	for q.idle != nil && q.closed {
		then.wake(q.unrest())
	}
}

// next returns the group whose batch should start now. If there is none, the timer calls tick when there is one.
func (q *Queue[I, O]) next(now time.Time) *group[I, O] {
	if q.config.Delay == 0 || q.closed || q.nGroups > q.nIdle || q.waiting >= q.config.Capacity {
		for l := range q.levels {
			if head := q.levels[l].head; head != nil {
				return head.group
			}
		}
	}
	var first time.Time
	for g := q.groups; g != nil; g = g.next { // in any order: there is a worker for each
		due := q.due(g)
		if !due.After(now) {
			return g
		}
		if first.IsZero() || due.Before(first) {
			first = due
		}
	}
	if !first.Equal(q.timerAt) {
		q.timerAt = first
		if q.timer == nil {
			q.timer = time.AfterFunc(first.Sub(now), q.tick)
		} else {
			q.timer.Reset(first.Sub(now))
		}
	}
	return nil
}

// due returns until when a group may wait for more items; the zero time if it should not wait.
func (q *Queue[I, O]) due(g *group[I, O]) (due time.Time) {
	if g.weight >= q.config.MaxRows {
		return time.Time{}
	}
	rows := 0
	for l := range g.levels {
		for it := g.levels[l].head; it != nil; it = it.links[inGroup].next {
			rows += it.weight
			if slices.Contains(q.config.Preferred, rows) {
				return time.Time{}
			}
			if due.IsZero() || it.due.Before(due) {
				due = it.due
			}
		}
	}
	return due
}

// tick is called by the timer.
func (q *Queue[I, O]) tick() {
	var then after[I, O]
	q.mu.Lock()
	q.timerAt = time.Time{}
	q.dispatch(time.Now(), &then)
	q.mu.Unlock()
	q.finish(&then)
}

// start gives the first items of a group to an idle worker. If the time of some of them is over, it only drops these,
// because the others may then have to wait.
func (q *Queue[I, O]) start(g *group[I, O], now time.Time, then *after[I, O]) {
	w := q.idle
	weight, preferred, full, dropped := 0, 0, false, false
	for l := range g.levels {
		for it := g.levels[l].head; it != nil && !full; {
			next := it.links[inGroup].next
			if err := it.dead(now); err != nil {
				q.drop(it, err, then)
				dropped = true
			} else if weight+it.weight > q.config.MaxRows {
				full = true
			} else {
				w.batch = append(w.batch, it)
				weight += it.weight
				if slices.Contains(q.config.Preferred, weight) {
					preferred = len(w.batch)
				}
				full = weight == q.config.MaxRows
			}
			it = next
		}
	}
	keep := len(w.batch)
	if dropped {
		keep = 0
	} else if preferred > 0 && !full {
		keep = preferred
	}
	if w.batch = w.batch[:keep]; dropped {
		return
	}
	rows := 0
	for _, it := range w.batch {
		rows += it.Rows
	}
	for _, it := range w.batch {
		q.unlink(it)
		it.state = running
		it.times.Started, it.times.Worker, it.times.Items, it.times.Rows = now, w.index, len(w.batch), rows
	}
	q.running += len(w.batch)
	q.unrest()
	then.wake(w)
}

package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/testseed"
)

// reference is a slow queue that does what the package comment says. Its time is in units, and it looks at everything
// after each event.
type reference struct {
	Config
	workers int
	now     time.Duration
	closed  bool
	waiting []*refItem // in order: by level, then by arrival
	busy    map[string][]*refItem
	answers map[string]string
}

type refItem struct {
	name, key     string
	level, weight int
	due           time.Duration
	deadline      time.Duration // 0: none
}

// submit is Do. The contexts of these tests have no deadlines.
func (r *reference) submit(d Request[string]) {
	if r.closed {
		r.answers[d.In] = "closed"
		return
	}
	if len(r.waiting) >= r.Capacity {
		r.answers[d.In] = "full"
		return
	}
	it := &refItem{name: d.In, key: d.Key, level: d.Priority, weight: d.Rows, due: r.now + r.Delay}
	if it.level == 0 {
		it.level = r.DefaultPriority
	}
	it.level = min(it.level, r.Priorities)
	if it.key == "" {
		it.key = "own " + it.name
		it.weight = r.MaxRows
	}
	if it.weight < 1 || it.weight > r.MaxRows {
		it.weight = r.MaxRows
	}
	if d.Timeout > 0 {
		it.deadline = r.now + d.Timeout
		it.due = min(it.due, r.now+d.Timeout/2)
	}
	r.waiting = append(r.waiting, it)
	slices.SortStableFunc(r.waiting, func(a, b *refItem) int { return cmp.Compare(a.level, b.level) })
}

// remove answers items that wait.
func (r *reference) remove(answer string, which func(*refItem) bool) {
	r.waiting = slices.DeleteFunc(r.waiting, func(it *refItem) bool {
		if which(it) {
			r.answers[it.name] = answer
		}
		return which(it)
	})
}

// end is the end of a batch.
func (r *reference) end(batch string) {
	for _, it := range r.busy[batch] {
		if r.answers[it.name] == "" {
			r.answers[it.name] = "<" + it.name + ">"
		}
	}
	delete(r.busy, batch)
}

// start returns the batches that start now.
func (r *reference) start() (batches []string) {
	for len(r.busy) < r.workers {
		batch := r.next()
		if batch == nil {
			break
		}
		name := refName(batch)
		batches = append(batches, name)
		r.busy[name] = batch
		r.waiting = slices.DeleteFunc(r.waiting, func(it *refItem) bool { return slices.Contains(batch, it) })
	}
	return batches
}

// refName is the name of a batch for a stand.
func refName(batch []*refItem) (name string) {
	for _, it := range batch {
		name += it.name
	}
	return name
}

// next returns the first batch that may start, in the order of the first items.
func (r *reference) next() []*refItem {
	byKey := map[string][]*refItem{}
	for _, it := range r.waiting {
		byKey[it.key] = append(byKey[it.key], it)
	}
	hurry := r.Delay == 0 || r.closed || len(r.waiting) >= r.Capacity || len(byKey) > r.workers-len(r.busy)
	for _, it := range r.waiting {
		if batch, waits := r.batch(byKey[it.key]); hurry || !waits {
			return batch
		}
	}
	return nil
}

// batch returns the items of a key that would run now, and whether they wait for others if there is time.
func (r *reference) batch(all []*refItem) (batch []*refItem, waits bool) {
	weight := 0
	preferred, due := 0, all[0].due
	for i, it := range all {
		if weight+it.weight > r.MaxRows {
			return all[:i], false
		}
		weight += it.weight
		if weight == r.MaxRows {
			return all[:i+1], false
		}
		if slices.Contains(r.Preferred, weight) {
			preferred = i + 1
		}
		due = min(due, it.due)
	}
	if preferred > 0 {
		return all[:preferred], false
	}
	return all, due > r.now
}

// TestReference makes random things happen, and compares which batches start, and all answers, with the reference.
func TestReference(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, round))
		synctest.Test(t, func(t *testing.T) { compare(t, random) })
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// The times of ticks, timeouts and other events are different, because what happens first at one moment is chance:
// events are at multiples of 4 units, timeouts at 2 units after, and the ends of delays at odd units.
func refConfig(random *rand.Rand) Config {
	c := Config{Capacity: 1 + random.IntN(12), MaxRows: 1 + random.IntN(8), Priorities: 1 + random.IntN(3)}
	c.DefaultPriority = 1 + random.IntN(c.Priorities)
	if random.IntN(3) > 0 {
		c.Delay = time.Duration(4*random.IntN(8) + 1)
	}
	for range random.IntN(3) {
		c.Preferred = append(c.Preferred, 1+random.IntN(c.MaxRows))
	}
	return c
}

func refRequest(name string, random *rand.Rand) Request[string] {
	d := Request[string]{In: name, Rows: 1, Priority: random.IntN(5)}
	if random.IntN(8) > 0 {
		d.Key = fmt.Sprint("k", random.IntN(3))
	}
	if random.IntN(4) == 0 {
		d.Rows = random.IntN(10)
	}
	if random.IntN(4) == 0 {
		d.Timeout = time.Duration(4*random.IntN(10) + 2)
	}
	return d
}

func compare(t *testing.T, random *rand.Rand) {
	config, workers := refConfig(random), 1+random.IntN(3)
	r := &reference{Config: config, workers: workers, busy: map[string][]*refItem{}, answers: map[string]string{}}
	s := newStand(t, config, workers)
	cancels := map[string]context.CancelFunc{}
	check := func(what string) {
		t.Helper()
		want := r.start()
		synctest.Wait()
		s.locked(func() {
			require.ElementsMatch(t, want, s.batches, "%s with %+v", what, config)
			s.batches = nil
			require.Equal(t, len(r.waiting), s.Stats().Waiting)
		})
	}
	for i := range 150 {
		switch random.IntN(7) {
		case 0, 1, 2:
			d := refRequest(fmt.Sprintf("%03d ", i), random)
			cancels[d.In] = s.do(d)
			r.submit(d)
			check("submit " + d.In)
		case 3:
			if names := slices.Sorted(maps.Keys(cancels)); len(names) > 0 {
				name := names[random.IntN(len(names))]
				cancels[name]()
				delete(cancels, name)
				r.remove("context canceled", func(it *refItem) bool { return it.name == name })
				for _, batch := range r.busy {
					for _, it := range batch {
						if it.name == name {
							r.answers[name] = "context canceled"
						}
					}
				}
				check("cancel " + name)
			}
		case 4, 5:
			if names := slices.Sorted(maps.Keys(r.busy)); len(names) > 0 {
				name := names[random.IntN(len(names))]
				s.let(s.running[name])
				r.end(name)
				check("end of " + name)
			}
		case 6:
			for range 4 {
				time.Sleep(1)
				r.now++
				r.remove("timeout", func(it *refItem) bool { return it.deadline > 0 && it.deadline <= r.now })
				check(fmt.Sprint("time ", r.now))
			}
		}
	}
	go s.Drain(context.Background())
	r.closed = true
	check("drain")
	for len(r.busy) > 0 {
		name := slices.Min(slices.Collect(maps.Keys(r.busy)))
		s.let(s.running[name])
		r.end(name)
		check("end of " + name)
	}
	s.end()
	for in, want := range r.answers {
		got := s.answers[in]
		for prefix, short := range map[string]string{"the queue is full": "full", "timeout": "timeout"} {
			if strings.HasPrefix(got, prefix) {
				got = short
			}
		}
		require.Equal(t, want, got, in)
	}
	require.Len(t, s.answers, len(r.answers))
	for _, cancel := range cancels {
		cancel()
	}
}

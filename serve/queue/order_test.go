package queue

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Each case queues items while the only worker is busy, and then looks at the batches.
func TestOrder_OfWhatWaits(t *testing.T) {
	item := func(in, key string, rows, priority int) Request[string] {
		return Request[string]{In: in, Key: key, Rows: rows, Priority: priority}
	}
	for _, c := range []struct {
		name   string
		config Config
		items  []Request[string]
		want   []string
	}{
		{"by arrival, alone", Config{}, []Request[string]{one("a", ""), one("b", ""), one("c", "")},
			[]string{"a", "b", "c"}},
		{"MaxRows 1 makes no batches", Config{MaxRows: 1}, []Request[string]{one("a", "k"), one("b", "k")},
			[]string{"a", "b"}},
		{"no key makes no batches", Config{MaxRows: 8}, []Request[string]{one("a", ""), one("b", "")},
			[]string{"a", "b"}},
		{"equal keys run together", Config{MaxRows: 8}, []Request[string]{one("a", "k"), one("b", "k"), one("c", "k")},
			[]string{"abc"}},
		{"MaxRows", Config{MaxRows: 2}, []Request[string]{one("a", "k"), one("b", "k"), one("c", "k")},
			[]string{"ab", "c"}},
		{"the oldest has the key, others with it join", Config{MaxRows: 8},
			[]Request[string]{one("a", "k"), one("b", "l"), one("c", "k"), one("d", ""), one("e", "l"), one("f", "k")},
			[]string{"acf", "be", "d"}},
		{"an overtaken item begins the next batch", Config{MaxRows: 2},
			[]Request[string]{one("a", "k"), one("b", "l"), one("c", "k"), one("d", "k"), one("e", "k")},
			[]string{"ac", "b", "de"}},
		{"rows count", Config{MaxRows: 8}, []Request[string]{item("a", "k", 4, 0), item("b", "k", 3, 0),
			item("c", "k", 1, 0), item("d", "k", 1, 0)}, []string{"abc", "d"}},
		{"nothing overtakes an item with its key that does not fit", Config{MaxRows: 8},
			[]Request[string]{item("a", "k", 5, 0), item("b", "k", 4, 0), item("c", "k", 1, 0)}, []string{"a", "bc"}},
		{"too many rows run alone", Config{MaxRows: 8},
			[]Request[string]{one("a", "k"), item("b", "k", 9, 0), one("c", "k")}, []string{"a", "b", "c"}},
		{"no rows run alone", Config{MaxRows: 8},
			[]Request[string]{one("a", "k"), item("b", "k", 0, 0), item("c", "k", -5, 0), one("d", "k")},
			[]string{"a", "b", "c", "d"}},
		{"priorities", Config{Priorities: 3}, []Request[string]{item("a", "", 1, 3), item("b", "", 1, 1),
			item("c", "", 1, 2), item("d", "", 1, 1), item("e", "", 1, 3)}, []string{"b", "d", "c", "a", "e"}},
		{"the default is in the middle, the lowest for too great numbers", Config{Priorities: 3},
			[]Request[string]{item("a", "", 1, 4), item("b", "", 1, 3), item("c", "", 1, 0), item("d", "", 1, 1),
				item("e", "", 1, -1), item("f", "", 1, 2)}, []string{"d", "c", "e", "f", "a", "b"}},
		{"of two the default is the lower", Config{Priorities: 2},
			[]Request[string]{item("a", "", 1, 0), item("b", "", 1, 2), item("c", "", 1, 1)}, []string{"c", "a", "b"}},
		{"another default", Config{Priorities: 3, DefaultPriority: 1},
			[]Request[string]{item("a", "", 1, 2), item("b", "", 1, 0)}, []string{"b", "a"}},
		{"lower levels fill a batch, in order", Config{Priorities: 3, MaxRows: 4},
			[]Request[string]{item("a", "k", 1, 3), item("b", "l", 1, 2), item("c", "k", 1, 2), item("d", "k", 1, 1),
				item("e", "k", 1, 3), item("f", "k", 1, 3)}, []string{"dcae", "b", "f"}},
		{"a batch ends at the largest preferred size", Config{MaxRows: 8, Preferred: []int{4, 2}},
			[]Request[string]{one("a", "k"), one("b", "k"), one("c", "k"), one("d", "k"), one("e", "k"), one("f", "k"),
				one("g", "k")}, []string{"abcd", "ef", "g"}},
		{"MaxRows is preferred", Config{MaxRows: 4, Preferred: []int{2}},
			[]Request[string]{one("a", "k"), one("b", "k"), one("c", "k"), one("d", "k"), one("e", "k")},
			[]string{"abcd", "e"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.config.Capacity = 100
				s := newStand(t, c.config, 1)
				s.do(one("first", ""))
				s.started("first")
				for _, r := range c.items {
					s.do(r)
				}
				require.Equal(t, Stats{Waiting: len(c.items), Running: 1, Busy: 1, Workers: 1}, s.Stats())
				for _, batch := range c.want {
					s.started()
					s.let(0)
					s.started(batch)
				}
				s.end()
				for _, r := range c.items {
					s.answer(r.In, "<"+r.In+">")
				}
			})
		})
	}
}

func TestOrder_IdleWorkersStartAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 1, MaxRows: 8}, 2)
		s.do(one("a", "k"))
		s.started("a")
		s.do(one("b", "k"))
		s.started("b")
		s.do(one("c", "k"))
		s.let(1)
		s.started("c")
		s.answer("b", "<b>")
		s.answer("a", "")
		require.Equal(t, 1, s.times["b"].Worker)
		s.end()
	})
}

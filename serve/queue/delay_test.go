package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var delayed = Config{Capacity: 100, MaxRows: 4, Delay: 10 * time.Millisecond, Priorities: 2, DefaultPriority: 2}

func TestDelay_EndsAfterTheFirstItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, delayed, 1)
		s.do(one("a", "k"))
		pass(6 * time.Millisecond)
		s.do(one("b", "k"))
		pass(4*time.Millisecond - 1)
		s.started()
		pass(1)
		s.started("ab")
		pass(time.Second)
		s.let(0)
		s.answer("a", "<a>")
		for in, wait := range map[string]time.Duration{"a": 10 * time.Millisecond, "b": 4 * time.Millisecond} {
			times := s.times[in]
			require.Equal(t, wait, times.Wait())
			require.Equal(t, time.Second, times.Run())
			require.Equal(t, []int{0, 2, 2}, []int{times.Worker, times.Items, times.Rows})
		}
		s.end()
	})
}

// Each case starts its last item while others wait for it with two idle workers.
func TestDelay_EndsAtOnce(t *testing.T) {
	urgent := one("z", "k")
	urgent.Priority = 1
	for _, c := range []struct {
		name   string
		change func(*Config)
		items  []Request[string]
		want   []string
	}{
		{"not yet", nil, []Request[string]{one("a", "k"), one("b", "k"), one("c", "k")}, nil},
		{"MaxRows", nil, []Request[string]{one("a", "k"), one("b", "k"), one("c", "k"), one("d", "k")}, []string{"abcd"}},
		{"more than MaxRows", nil, []Request[string]{one("a", "k"), {In: "b", Key: "k", Rows: 2},
			{In: "c", Key: "k", Rows: 2}}, []string{"ab"}},
		{"a preferred size", func(c *Config) { c.Preferred = []int{3} },
			[]Request[string]{one("a", "k"), one("b", "k"), one("c", "k")}, []string{"abc"}},
		{"past a preferred size", func(c *Config) { c.Preferred = []int{2} },
			[]Request[string]{one("a", "k"), {In: "b", Key: "k", Rows: 2}}, nil},
		{"no key", nil, []Request[string]{one("a", "k"), one("b", "")}, []string{"b"}},
		{"too many rows", nil, []Request[string]{one("a", "k"), {In: "b", Key: "k", Rows: 5}}, []string{"a", "b"}},
		{"a worker for each key", nil, []Request[string]{one("a", "k"), one("b", "l")}, nil},
		{"more keys than workers", nil, []Request[string]{one("a", "k"), one("b", "l"), one("c", "k"), one("d", "m")},
			[]string{"ac", "b"}},
		{"a full group behind another", nil, []Request[string]{one("a", "k"), one("b", "l"), one("c", "l"), one("d", "l"),
			one("e", "l")}, []string{"bcde"}},
		{"a full queue", func(c *Config) { c.Capacity = 3 },
			[]Request[string]{one("a", "k"), one("b", "l"), one("c", "k")}, []string{"ac"}},
		{"a higher level goes first", nil, []Request[string]{one("a", "k"), one("b", "k"), one("c", "k"), urgent},
			[]string{"zabc"}},
		{"no delay", func(c *Config) { c.Delay = 0 }, []Request[string]{one("a", "k")}, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := delayed
				if c.change != nil {
					c.change(&config)
				}
				s := newStand(t, config, 2)
				for i, r := range c.items {
					if i == len(c.items)-1 {
						s.started()
					}
					s.do(r)
				}
				s.started(c.want...)
				s.end()
			})
		})
	}
}

// The delay counts from the arrival, so that a worker that becomes free does not add to what an item has waited.
func TestDelay_IsOverForWhatWaitedForAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, delayed, 1)
		s.do(one("first", ""))
		s.started("first")
		s.do(one("a", "k"))
		pass(4 * time.Millisecond)
		s.let(0)
		s.started()
		pass(6 * time.Millisecond)
		s.started("a")
		s.do(one("b", "k"))
		pass(10 * time.Millisecond)
		s.do(one("c", "k"))
		s.started()
		s.let(0)
		s.started("bc")
		s.end()
	})
}

func TestDelay_LeavesHalfOfTheTimeOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, delayed, 1)
		s.do(one("a", "k"))
		s.do(Request[string]{In: "b", Key: "k", Rows: 1, Timeout: 8 * time.Millisecond})
		pass(4*time.Millisecond - 1)
		s.started()
		pass(1)
		s.started("ab")
		s.let(0)

		ctx, cancel := context.WithTimeout(context.Background(), 6*time.Millisecond)
		defer cancel()
		s.doContext(ctx, one("c", "k"))
		pass(3*time.Millisecond - 1)
		s.started()
		pass(1)
		s.started("c")
		s.end()
	})
}

// Those that stay wait as long as before when an item leaves, and no longer if they are then a preferred size.
func TestDelay_AfterACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := delayed
		config.Preferred = []int{2}
		s := newStand(t, config, 1)
		cancelA := s.do(one("a", "k"))
		pass(5 * time.Millisecond)
		cancelB := s.do(Request[string]{In: "b", Key: "k", Rows: 2})
		cancelA()
		s.started("b")
		s.let(0)

		cancelB()
		cancelC := s.do(one("c", "k"))
		pass(5 * time.Millisecond)
		cancelC()
		s.do(one("d", "k"))
		pass(10*time.Millisecond - 1)
		s.started()
		pass(1)
		s.started("d")
		s.end()
	})
}

package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDrain_AnswersWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, delayed, 1)
		s.do(one("first", ""))
		s.do(one("a", "k"))
		s.do(one("b", "k"))
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(context.Background()) }()
		s.started("first")
		s.do(one("c", "k"))
		s.answer("c", "the queue is closed")
		s.let(0)
		s.started("ab")
		require.Empty(t, drained)
		s.let(0)
		require.NoError(t, <-drained)
		s.answer("a", "<a>")
		s.answer("b", "<b>")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for range 50 {
			require.NoError(t, s.Drain(ctx))
		}
		s.Close()
		s.end()
	})
}

// Nothing more arrives, so the items that wait for others start.
func TestDrain_EndsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, delayed, 1)
		s.do(one("a", "k"))
		s.do(one("b", "k"))
		s.started()
		go s.Drain(context.Background())
		s.started("ab")
		s.end()
	})
}

func TestDrain_UntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 9}, 1)
		s.do(one("a", ""))
		s.do(one("b", ""))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Drain(ctx), context.DeadlineExceeded)
		s.answer("b", "")
		closed := make(chan struct{})
		go func() { s.Close(); close(closed) }()
		s.answer("b", "the queue is closed")
		s.answer("a", "")
		select {
		case <-closed:
			t.Fatal("closed while a worker runs")
		default:
		}
		s.let(0)
		<-closed
		s.answer("a", "<a>")
		require.NotContains(t, s.seen, "b")
		s.end()
	})
}

// The queue has ended when the last of the waiting items goes away, although no worker becomes free after that.
func TestDrain_LastItemIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 9}, 1)
		s.do(one("a", ""))
		cancel := s.do(one("b", ""))
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(context.Background()) }()
		synctest.Wait()
		cancel()
		s.answer("b", "context canceled")
		require.Empty(t, drained)
		s.let(0)
		require.NoError(t, <-drained)
		s.end()
	})
}

func TestClose_Unused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 1}, 3)
		s.Close()
		s.Close()
		_, _, err := s.Do(context.Background(), one("a", ""))
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestNew_Limits(t *testing.T) {
	good := func() Config {
		return Config{Capacity: 1, MaxRows: 4, Preferred: []int{1, 4}, Priorities: 64, DefaultPriority: 64}
	}
	for want, change := range map[string]func(*Config){
		"make a queue: capacity: expected at least 1 waiting item, got 0":      func(c *Config) { c.Capacity = 0 },
		"make a queue: largest batch: expected 0 or more, got -1 rows":         func(c *Config) { c.MaxRows = -1 },
		"make a queue: delay: expected 0 or more, got -2 ns":                   func(c *Config) { c.Delay = -2 },
		"make a queue: number of priorities: expected 0 or more, got -3":       func(c *Config) { c.Priorities = -3 },
		"make a queue: number of priorities: expected at most 64, got 65":      func(c *Config) { c.Priorities = 65 },
		"make a queue: default priority: expected 0 or more, got -1":           func(c *Config) { c.DefaultPriority = -1 },
		"make a queue: default priority: expected 1 to 64, got 65":             func(c *Config) { c.DefaultPriority = 65 },
		"make a queue: timeout: expected 0 or more, got -1 ns":                 func(c *Config) { c.Timeout = -1 },
		"make a queue: preferred size of a batch: expected 1 to 4 rows, got 5": func(c *Config) { c.Preferred[1] = 5 },
		"make a queue: preferred size of a batch: expected 1 to 4 rows, got 0": func(c *Config) { c.Preferred[0] = 0 },
		"make a queue: preferred size of a batch: expected 1 to 1 rows, got 4": func(c *Config) { c.MaxRows = 0 },
		"make a queue: expected at least 1 worker, got none":                   func(c *Config) {},
	} {
		c := good()
		change(&c)
		_, err := New(c, Functions[int, int]{})
		require.EqualError(t, err, want)
	}
	q, err := New(good(), Functions[int, int]{Workers: []func([]*Item[int, int]){func([]*Item[int, int]) {}}})
	require.NoError(t, err)
	q.Close()
}

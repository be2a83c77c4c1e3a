package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/gopanic"
)

func TestDo_ContextEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 2, MaxRows: 4}, 1)
		s.do(one("first", ""))
		s.do(one("a", "k"))
		cancel := s.do(one("b", "k"))
		s.do(one("c", "k"))
		s.answer("c", "the queue is full: 2 items wait: try again in 1s")
		cancel()
		s.answer("b", "context canceled")
		require.Equal(t, 1, s.Stats().Waiting)
		s.do(one("d", "k")) // in the place of b
		s.answer("d", "")
		s.let(0)
		s.started("first", "ad")
		s.end()
		require.NotContains(t, s.seen, "b")
		require.Empty(t, s.discards)
	})
}

func TestDo_ContextEndsWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 9, MaxRows: 4, Delay: 1}, 1)
		cancel := s.do(one("a", "k"))
		s.do(one("b", "k"))
		pass(1)
		s.started("ab")
		cancel()
		s.answer("a", "context canceled")
		require.Equal(t, map[string]int{}, s.released, "the worker uses the input")
		require.Equal(t, time.Duration(1), s.times["a"].Started.Sub(s.times["a"].Queued))
		require.Zero(t, s.times["a"].Finished)
		s.answer("b", "")
		s.let(0)
		s.answer("b", "<b>")
		require.Equal(t, []string{"<a>"}, s.discards)
		s.end()
	})
}

func TestDo_ContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 1}, 1)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.doContext(ctx, one("a", ""))
		s.answer("a", "context canceled")
		s.do(one("first", ""))
		s.do(one("second", ""))
		s.doContext(ctx, one("b", "")) // although the queue is full
		s.answer("b", "context canceled")
		s.end()
		s.doContext(ctx, one("c", "")) // or closed
		s.answer("c", "context canceled")
		require.Len(t, s.seen, 2)
	})
}

func TestDo_Timeout(t *testing.T) {
	after := func(in string, d time.Duration) Request[string] { return Request[string]{In: in, Rows: 1, Timeout: d} }
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 9, Timeout: time.Second}, 1)
		s.do(one("first", ""))
		s.do(after("a", 0))
		s.do(after("b", time.Millisecond))
		s.do(after("c", time.Minute))
		pass(time.Millisecond)
		text := "timeout in the queue: it did not start within 1ms: allow more time, or send fewer requests at once"
		s.answer("b", text)
		pass(time.Second - time.Millisecond - 1)
		s.answer("a", "")
		s.answer("c", "")
		s.let(0)
		s.started("first", "a")
		pass(1)
		s.answer("c", "timeout in the queue: it did not start within 1s: allow more time, or send fewer requests at once")
		pass(time.Hour) // runs as long as it takes
		s.answer("a", "")
		s.let(0)
		s.answer("a", "<a>")

		s.do(one("d", ""))
		for _, in := range []string{"e", "f"} { // again with the timers of items before
			s.do(after(in, time.Millisecond))
			pass(time.Millisecond)
			s.answer(in, text)
		}
		s.end()
	})
}

// A worker that becomes free when the time of an item is over does not get the item, whatever is noticed first.
func TestDo_NothingStartsLate(t *testing.T) {
	for range 50 { // which goroutine goes first is chance
		synctest.Test(t, func(t *testing.T) {
			s := newStand(t, Config{Capacity: 9, MaxRows: 3}, 1)
			s.do(one("first", ""))
			cancel := s.do(one("a", "k"))
			s.do(Request[string]{In: "b", Key: "k", Rows: 1, Timeout: time.Millisecond})
			s.do(one("c", "k"))
			time.Sleep(time.Millisecond) // the timer of b and this goroutine wake together
			cancel()
			s.let(0)
			s.started("first", "c")
			s.answer("a", "context canceled")
			s.answer("b", "timeout in the queue: it did not start within 1ms: allow more time, or send fewer requests at once")
			s.end()
			require.NotContains(t, s.seen, "a")
			require.NotContains(t, s.seen, "b")
		})
	}
}

func TestDo_Full(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 4}, 2)
		s.do(one("first", ""))
		pass(3 * time.Second)
		s.let(0)
		s.do(one("second", ""))
		pass(11 * time.Second)
		s.let(0) // now an item takes 3 s + (11 s - 3 s) / 8
		for _, in := range []string{"a", "b", "c", "d", "e", "f"} {
			s.do(one(in, ""))
		}
		_, times, err := s.Do(context.Background(), one("g", ""))
		require.ErrorIs(t, err, ErrFull)
		require.NotZero(t, times.Queued)
		require.Zero(t, times.Wait()+times.Run())
		var full *FullError
		require.ErrorAs(t, err, &full)
		require.Equal(t, FullError{Waiting: 4, RetryAfter: 6 * time.Second}, *full) // 3 items, 2 workers
		s.locked(func() { delete(s.released, "g") })
		for i := range 100 {
			s.let(0)
			s.do(one(fmt.Sprint(i), ""))
		}
		s.do(one("i", "")) // items have become fast
		s.answer("i", "the queue is full: 4 items wait: try again in 5ms")
		s.end()
	})
}

func TestWorker_Fails(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func(batch []*Item[string, string])
		want  string // of b; a is answered
		check func(t *testing.T, err error)
	}{
		{"an error", func(b []*Item[string, string]) { b[0].Answer("A"); b[1].Fail(io.ErrShortWrite) }, "short write", nil},
		{"no answer", func(b []*Item[string, string]) { b[0].Answer("A") }, "the worker gave no answer", nil},
		{"an error after a result", func(b []*Item[string, string]) {
			b[0].Answer("A")
			b[1].Answer("B")
			b[1].Fail(io.EOF)
		}, "EOF", nil},
		{"no error", func(b []*Item[string, string]) { b[0].Answer("A"); b[1].Fail(nil) }, "the worker gave no answer", nil},
		{"a panic", func(b []*Item[string, string]) { b[0].Answer("A"); panic(io.EOF) },
			"run a batch of 2 items: panic: EOF", func(t *testing.T, err error) {
				require.ErrorIs(t, err, io.EOF)
				var p *gopanic.Panic
				require.True(t, errors.As(err, &p))
				require.Contains(t, p.Stack, "end_test.go")
			}},
		{"Goexit", func(b []*Item[string, string]) { b[0].Answer("A"); runtime.Goexit() },
			"run a batch: the worker ended its goroutine (runtime.Goexit): return instead", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				discards := ""
				q, err := New(Config{Capacity: 9, MaxRows: 2, Delay: 1}, Functions[string, string]{
					Discard: func(out string) { discards += out },
					Workers: []func([]*Item[string, string]){func(b []*Item[string, string]) {
						if b[0].In == "a" {
							c.run(b)
						} else {
							b[0].Answer("fine")
						}
					}}})
				require.NoError(t, err)
				go func() {
					out, _, err := q.Do(context.Background(), one("a", "k"))
					require.NoError(t, err)
					require.Equal(t, "A", out)
				}()
				synctest.Wait()
				out, _, err := q.Do(context.Background(), one("b", "k"))
				require.EqualError(t, err, c.want)
				require.Empty(t, out)
				require.Equal(t, c.name == "an error after a result", discards == "B", discards)
				if c.check != nil {
					c.check(t, err)
				}
				for range 3 { // the worker goes on
					out, _, err = q.Do(context.Background(), one("c", ""))
					require.NoError(t, err)
					require.Equal(t, "fine", out)
				}
				require.NoError(t, q.Drain(context.Background()))
			})
		})
	}
}

// The result of an item that failed is not discarded, because there is none.
func TestWorker_FailsAfterDoReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, Config{Capacity: 9, MaxRows: 2}, 1)
		cancel := s.do(one("a", "k"))
		cancel()
		s.answer("a", "context canceled")
		s.hold[0] <- func() { panic("late") } // after its answer
		synctest.Wait()
		require.Equal(t, []string{"<a>"}, s.discards)
		s.end()

		discarded := false
		started := make(chan struct{})
		q, err := New(Config{Capacity: 1}, Functions[string, string]{
			Discard: func(string) { discarded = true },
			Workers: []func([]*Item[string, string]){func(b []*Item[string, string]) {
				close(started)
				<-b[0].Context().Done()
				synctest.Wait()
				b[0].Fail(b[0].Context().Err())
			}}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-started; cancel() }()
		_, _, err = q.Do(ctx, one("a", ""))
		require.ErrorIs(t, err, context.Canceled)
		q.Close()
		require.False(t, discarded)
	})
}

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// stand is a queue whose workers are under control of a test: each batch runs until the test lets it go. It exists in
// a bubble of synctest, so that time passes only while the test sleeps.
type stand struct {
	*Queue[string, string]
	t *testing.T

	mu       sync.Mutex
	batches  []string            // the inputs of each batch that started since the last look
	running  map[string]int      // the worker of each batch
	hold     []chan func()       // for each worker: what to do at the end of its batch; nil answers
	answers  map[string]string   // the result or the error of each Do that returned
	times    map[string]Times    // likewise
	released map[string]int      // calls of Release
	discards []string            // results that were discarded
	seen     map[string]struct{} // all inputs that came to a worker
}

// newStand makes a queue with a number of workers; it ends with the test.
func newStand(t *testing.T, c Config, workers int) *stand {
	s := &stand{t: t, running: map[string]int{}, answers: map[string]string{}, times: map[string]Times{},
		released: map[string]int{}, seen: map[string]struct{}{}}
	f := Functions[string, string]{
		Release: func(in string) { s.locked(func() { s.released[in]++ }) },
		Discard: func(out string) { s.locked(func() { s.discards = append(s.discards, out) }) },
	}
	for i := range workers {
		s.hold = append(s.hold, make(chan func()))
		f.Workers = append(f.Workers, func(batch []*Item[string, string]) { s.work(i, batch) })
	}
	q, err := New(c, f)
	require.NoError(t, err)
	s.Queue = q
	t.Cleanup(func() {
		if t.Failed() {
			s.drain()
		}
	})
	return s
}

func (s *stand) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *stand) work(i int, batch []*Item[string, string]) {
	s.locked(func() {
		text := ""
		for _, it := range batch {
			text += it.In
			s.seen[it.In] = struct{}{}
		}
		s.batches = append(s.batches, text)
		s.running[text] = i
	})
	end := <-s.hold[i]
	for _, it := range batch {
		it.Answer("<" + it.In + ">")
	}
	if end != nil {
		end()
	}
}

// do starts a Do and returns when everything that follows from it has happened. It returns a function that ends the
// context.
func (s *stand) do(r Request[string]) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.Background())
	s.doContext(ctx, r)
	return cancel
}

func (s *stand) doContext(ctx context.Context, r Request[string]) {
	go func() {
		out, times, err := s.Do(ctx, r)
		if err != nil {
			out = err.Error()
		}
		s.locked(func() {
			if before, twice := s.answers[r.In]; twice {
				out = fmt.Sprintf("two answers: %s, %s", before, out)
			}
			s.answers[r.In], s.times[r.In] = out, times
		})
	}()
	synctest.Wait()
}

// one is an item with one row.
func one(in, key string) Request[string] { return Request[string]{In: in, Key: key, Rows: 1} }

// started returns the batches that started since the last call, and checks them.
func (s *stand) started(want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.locked(func() {
		if len(s.hold) > 1 { // which start together
			slices.Sort(s.batches)
		}
		require.Equal(s.t, want, s.batches)
		s.batches = nil
	})
}

// let lets a worker finish its batch.
func (s *stand) let(worker int) {
	s.hold[worker] <- nil
	synctest.Wait()
}

// answer checks what a Do has returned: "" if it has not.
func (s *stand) answer(in, want string) {
	s.t.Helper()
	synctest.Wait()
	s.locked(func() { require.Equal(s.t, want, s.answers[in], in) })
}

// drain lets all workers go and closes the queue.
func (s *stand) drain() {
	stop := make(chan struct{})
	for _, h := range s.hold {
		go func() {
			for {
				select {
				case h <- nil:
				case <-stop:
					return
				}
			}
		}()
	}
	s.Drain(context.Background())
	close(stop)
	synctest.Wait()
}

// end ends the queue. All items must have an answer and be released.
func (s *stand) end() {
	s.t.Helper()
	s.drain()
	require.Equal(s.t, Stats{Workers: len(s.hold)}, s.Stats())
	s.locked(func() {
		require.Len(s.t, s.released, len(s.answers))
		for in, n := range s.released {
			require.Equal(s.t, 1, n, "releases of "+in)
			require.Contains(s.t, s.answers, in)
		}
	})
}

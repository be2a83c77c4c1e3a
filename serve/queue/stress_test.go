package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/testseed"
)

// number is an input or a result that must be released or discarded once.
type number struct {
	value int
	uses  atomic.Int64
}

var errWorker = errors.New("the worker's error")

// stress is a queue with clients that check what they get.
type stress struct {
	*Queue[*number, *number]
	config                  Config
	inputs, released        atomic.Int64
	results, got, discarded atomic.Int64
	badBatches, badAnswers  atomic.Int64
	counts                  [6]atomic.Int64 // of the kinds of ends of a Do
}

// Kinds of ends.
const (
	fine = iota
	canceled
	timedOut
	full
	closed
	failed
)

func newStress(t *testing.T, c Config, workers int, seed uint64) *stress {
	s := &stress{config: c}
	f := Functions[*number, *number]{
		Release: func(n *number) { s.released.Add(n.uses.Add(1)) },
		Discard: func(n *number) { s.discarded.Add(n.uses.Add(1)) },
	}
	for i := range workers {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		f.Workers = append(f.Workers, func(batch []*Item[*number, *number]) { s.work(batch, random) })
	}
	q, err := New(c, f)
	require.NoError(t, err)
	s.Queue = q
	return s
}

func (s *stress) work(batch []*Item[*number, *number], random *rand.Rand) {
	rows := 0
	for _, it := range batch {
		rows += it.Rows
		if it.In.uses.Load() != 0 || it.key != batch[0].key || it.ctx == nil {
			s.badBatches.Add(1)
		}
	}
	if len(batch) > 1 && (rows > s.config.MaxRows || batch[0].key == "") {
		s.badBatches.Add(1)
	}
	if random.IntN(4) == 0 {
		time.Sleep(time.Duration(random.IntN(int(time.Millisecond))))
	}
	fails := random.IntN(50)
	for i, it := range batch {
		if fails == 0 && i == len(batch)/2 {
			panic(errWorker)
		}
		if fails == 1 {
			it.Fail(errWorker)
			continue
		}
		s.results.Add(1)
		it.Answer(&number{value: -it.In.value})
	}
}

// client sends items until the queue is closed.
func (s *stress) client(first, count int, random *rand.Rand) {
	for i := range count {
		n := &number{value: first + i}
		s.inputs.Add(1)
		r := Request[*number]{In: n, Rows: 1 + random.IntN(5), Priority: random.IntN(5)}
		if random.IntN(8) > 0 {
			r.Key = fmt.Sprint(random.IntN(4))
		}
		if random.IntN(4) == 0 {
			r.Timeout = time.Duration(random.IntN(int(time.Millisecond)))
		}
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		switch random.IntN(4) {
		case 0:
			ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(int(time.Millisecond))))
		case 1:
			ctx, cancel = context.WithCancel(ctx)
			go cancel()
		}
		out, times, err := s.Do(ctx, r)
		cancel()
		switch {
		case err == nil:
			if out.value != -n.value || out.uses.Add(1) != 1 || times.Finished.IsZero() {
				s.badAnswers.Add(1)
			}
			s.got.Add(1)
			s.counts[fine].Add(1)
		case errors.Is(err, ErrTimeout):
			s.counts[timedOut].Add(1)
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			s.counts[canceled].Add(1)
		case errors.Is(err, ErrFull):
			s.counts[full].Add(1)
			time.Sleep(time.Duration(random.IntN(int(time.Millisecond))))
		case errors.Is(err, ErrClosed):
			s.counts[closed].Add(1)
			return
		case errors.Is(err, errWorker):
			s.counts[failed].Add(1)
		default:
			s.badAnswers.Add(1)
		}
		if times.Wait() < 0 || times.Run() < 0 || (err != nil && out != nil) {
			s.badAnswers.Add(1)
		}
	}
}

// run starts clients, ends the queue while they send, and checks that nothing was lost or swapped.
func (s *stress) run(t *testing.T, clients, count int, seed uint64) {
	var all sync.WaitGroup
	half := make(chan struct{}) // half of the clients are done
	var done atomic.Int64
	for i := range clients {
		random := rand.New(rand.NewPCG(seed, 1000+uint64(i)))
		all.Go(func() {
			n := count
			if i%2 == 1 {
				n = 1 << 30
			}
			s.client(i<<40, n, random)
			if done.Add(1) == int64(clients+1)/2 {
				close(half)
			}
		})
	}
	<-half
	if seed%2 == 0 {
		require.NoError(t, s.Drain(context.Background()))
	} else {
		s.Close()
	}
	all.Wait()
	require.Equal(t, Stats{Workers: len(s.functions.Workers)}, s.Stats())
	require.Zero(t, s.badAnswers.Load())
	require.Zero(t, s.badBatches.Load())
	require.Equal(t, s.inputs.Load(), s.released.Load())
	require.Equal(t, s.results.Load(), s.got.Load()+s.discarded.Load())
	require.Zero(t, s.nGroups)
	require.Nil(t, s.groups)
	require.Empty(t, s.keys)
}

// stressConfig returns limits for a round; in every other one, Do runs items itself.
func stressConfig(round uint64) Config {
	c := limits
	if c.Inline = round%2 == 1; c.Inline {
		c.Delay = 0
	}
	return c
}

var limits = Config{Capacity: 20, MaxRows: 8, Preferred: []int{4}, Delay: 100 * time.Microsecond, Priorities: 3,
	Timeout: 5 * time.Millisecond}

// Each item gets exactly one answer, and it is its own. With the fake clock, what happens at one moment is in random
// order, and much happens at one moment.
func TestStress_FakeClock(t *testing.T) {
	for round := range uint64(4) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			seed := testseed.Of(t) + round
			synctest.Test(t, func(t *testing.T) {
				s := newStress(t, stressConfig(round), 3, seed)
				s.run(t, 64, 100, seed)
				for kind := range s.counts {
					require.NotZero(t, s.counts[kind].Load(), "ends of kind %d", kind)
				}
			})
		})
	}
}

func TestStress_RealClock(t *testing.T) {
	for round := range uint64(4) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			seed := testseed.Of(t) + round
			newStress(t, stressConfig(round), 3, seed).run(t, 64, 100, seed)
		})
	}
}

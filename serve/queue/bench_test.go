package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkDo measures what the queue adds to a function that does nothing: one worker, and 1 or 64 clients, each with
// one item at a time.
func BenchmarkDo(b *testing.B) {
	for _, clients := range []int{1, 64} {
		for _, c := range []struct {
			name    string
			rows    int
			timeout time.Duration
		}{{"alone", 1, 0}, {"batches", 32, 0}, {"timeout", 32, time.Hour}} {
			b.Run(fmt.Sprintf("clients=%d/%s", clients, c.name), func(b *testing.B) {
				q := benchQueue(b, Config{Capacity: 64, MaxRows: c.rows, Timeout: c.timeout})
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				b.ReportAllocs()
				each(b, clients, func() error {
					_, _, err := q.Do(ctx, Request[int]{In: 1, Key: "k", Rows: 1})
					return err
				})
			})
		}
	}
}

// BenchmarkCrowded measures the rejection of an item, and the removal of one whose time is over, while few or many
// others wait. It must not take longer with many.
func BenchmarkCrowded(b *testing.B) {
	for _, waiting := range []int{1, 10000} {
		for _, c := range []struct {
			name   string
			places int
			want   error
		}{{"full", 0, ErrFull}, {"timeout", 1, ErrTimeout}} {
			b.Run(fmt.Sprintf("waiting=%d/%s", waiting, c.name), func(b *testing.B) {
				block := make(chan struct{})
				q, err := New(Config{Capacity: waiting + c.places}, Functions[int, int]{Workers: []func([]*Item[int, int]){
					func([]*Item[int, int]) { <-block }}})
				require.NoError(b, err)
				defer q.Close()
				defer close(block)
				ctx := b.Context()
				for range waiting + 1 {
					go q.Do(ctx, Request[int]{})
				}
				for q.Stats().Waiting < waiting {
					time.Sleep(time.Millisecond)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := q.Do(ctx, Request[int]{Timeout: 1}); !errors.Is(err, c.want) {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// benchQueue is a queue with one worker that does nothing.
func benchQueue(b *testing.B, c Config) *Queue[int, int] {
	q, err := New(c, Functions[int, int]{Workers: []func([]*Item[int, int]){func(batch []*Item[int, int]) {
		for _, it := range batch {
			it.Answer(it.In)
		}
	}}})
	require.NoError(b, err)
	b.Cleanup(q.Close)
	return q
}

// each calls f b.N times on a number of goroutines.
func each(b *testing.B, goroutines int, f func() error) {
	var all sync.WaitGroup
	b.ResetTimer()
	for g := range goroutines {
		n := (b.N + g) / goroutines
		all.Go(func() {
			for range n {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

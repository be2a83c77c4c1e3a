package queue

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// With Inline, an item that an idle worker would take at once runs in Do; every other one runs on the worker's
// goroutine.
func TestInline(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		limit  time.Duration // of the context
		inline bool
	}{
		{"idle", Config{Inline: true}, 0, true},
		{"not asked for", Config{}, 0, false},
		{"a deadline", Config{Inline: true}, time.Hour, false},
		{"a delay", Config{Inline: true, MaxRows: 4, Delay: 1}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Capacity = 4
			inDo := false
			q := must.Get(New(c.config, Functions[int, int]{Workers: []func([]*Item[int, int]){
				func(batch []*Item[int, int]) {
					inDo = strings.Contains(string(debug.Stack()), ".Do(")
					batch[0].Answer(batch[0].In + 1)
				}}}))(t)
			ctx := t.Context()
			if c.limit > 0 {
				limited, cancel := context.WithTimeout(ctx, c.limit)
				defer cancel()
				ctx = limited
			}
			for range 2 { // then the worker is idle again
				inDo = !c.inline
				out, times, err := q.Do(ctx, Request[int]{In: 1, Key: "k", Rows: 1})
				require.NoError(t, err)
				require.Equal(t, 2, out)
				require.Equal(t, 1, times.Items)
				require.False(t, times.Finished.Before(times.Started))
				require.Equal(t, c.inline, inDo)
			}
			require.Equal(t, Stats{Workers: 1}, q.Stats())
			q.Close()
		})
	}
}

// A panic in Do's own run is the error of its item, and the queue goes on, and can be closed.
func TestInline_Panic(t *testing.T) {
	fails := errors.New("no")
	q := must.Get(New(Config{Capacity: 1, Inline: true}, Functions[error, int]{Workers: []func([]*Item[error, int]){
		func(batch []*Item[error, int]) {
			if batch[0].In != nil {
				panic(batch[0].In)
			}
		}}}))(t)
	for range 2 {
		_, _, err := q.Do(t.Context(), Request[error]{In: fails})
		require.ErrorIs(t, err, fails)
		_, _, err = q.Do(t.Context(), Request[error]{})
		require.ErrorIs(t, err, errNoAnswer)
	}
	require.NoError(t, q.Drain(t.Context()))
	_, _, err := q.Do(t.Context(), Request[error]{})
	require.ErrorIs(t, err, ErrClosed)
}

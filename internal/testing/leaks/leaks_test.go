package leaks_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/leaks"
)

// Settled waits for unreachable objects, even if their clean-ups are slow.
func TestSettled(t *testing.T) {
	var alive atomic.Int64
	may := make(chan struct{})
	for range 3 {
		alive.Add(1)
		runtime.AddCleanup(new([64]byte), func(may chan struct{}) {
			<-may
			alive.Add(-1)
		}, may)
	}
	time.AfterFunc(20*time.Millisecond, func() { close(may) }) // later than garbage collections alone take
	require.Zero(t, leaks.Settled(alive.Load))
}

func TestUntil(t *testing.T) {
	var gone atomic.Bool
	runtime.AddCleanup(new([64]byte), func(b *atomic.Bool) { b.Store(true) }, &gone)
	require.True(t, leaks.Until(gone.Load))
}

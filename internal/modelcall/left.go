package modelcall

import (
	"context"
	"fmt"
	"sync"
)

// Left counts calls that go on after their context has ended.
type Left struct {
	mu   sync.Mutex
	n    int
	done chan struct{} // closed when n becomes 0; nil if nobody waits
}

// Add adds to the number of these calls.
func (l *Left) Add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n += n; l.n == 0 && l.done != nil {
		close(l.done)
		l.done = nil
	}
}

// Wait returns when there are none, or the error of ctx if it ends first.
func (l *Left) Wait(ctx context.Context) error {
	l.mu.Lock()
	if l.n == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.done == nil {
		l.done = make(chan struct{})
	}
	done := l.done
	l.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for calls: %w", ctx.Err())
	}
}

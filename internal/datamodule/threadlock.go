package datamodule

import (
	goruntime "runtime"
	"sync"
	"syscall"

	_ "tvmgo/internal/needscgo" // threads have numbers on Linux only, as the runtime needs them
)

// threadLock is a lock that its thread may lock again, for example when C code that is called under the lock calls
// back. It locks goroutines to their threads.
type threadLock struct {
	mu    sync.Mutex // guards the fields; held briefly
	free  *sync.Cond // of mu; nil until a thread waits
	owner int        // thread
	depth int        // how often the owner holds it; 0 = free
}

func (l *threadLock) lock() {
	goruntime.LockOSThread()
	me := syscall.Gettid()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.depth > 0 && l.owner != me {
		if l.free == nil {
			l.free = sync.NewCond(&l.mu)
		}
		l.free.Wait()
	}
	l.owner = me
	l.depth++
}

func (l *threadLock) unlock() {
	defer goruntime.UnlockOSThread()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.depth--; l.depth == 0 && l.free != nil {
		l.free.Signal()
	}
}

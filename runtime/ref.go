package runtime

import (
	goruntime "runtime"
	"sync/atomic"
)

// ref is a reference to an object of the core that Close releases. Calls in progress hold it: the
// last one to end releases the object, so closing never pulls memory away from under a call.
type ref struct {
	obj   object
	state atomic.Int64 // users in progress; refClosed is added by close
}

// States beyond the counts of users. A closed reference still counts those who come too late, for a
// moment, so the bits above both are free.
const (
	refClosed  = 1 << 61
	refDropped = 1 << 62
)

// acquire lets a call use the object until release; false when it is closed.
func (r *ref) acquire() bool {
	if r == nil {
		return false
	}
	if r.state.Add(1) < refClosed {
		return true
	}
	r.release()
	return false
}

func (r *ref) release() {
	if r.state.Add(-1) == refClosed {
		r.drop()
	}
}

// close gives the reference up; false when that was done before.
func (r *ref) close() bool {
	for {
		s := r.state.Load()
		if s >= refClosed {
			return false
		}
		if r.state.CompareAndSwap(s, s+refClosed) {
			if s == 0 {
				r.drop()
			}
			return true
		}
	}
}

// drop releases the object once, whoever comes first of those that see no users left.
func (r *ref) drop() {
	if r.state.CompareAndSwap(refClosed, refDropped) {
		r.obj.release()
	}
}

// watch releases the object when the owner became unreachable without Close: the net beneath.
func watch[T any](owner *T, r *ref) {
	goruntime.AddCleanup(owner, func(r *ref) { r.close() }, r)
}

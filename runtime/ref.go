package runtime

import (
	goruntime "runtime"
	"sync/atomic"
)

// ref is a reference to an object of the core that Close releases. Calls in progress hold it: the last one to end
// releases the object, so Close never frees memory that a call uses.
type ref struct {
	obj   object
	state atomic.Int64 // users in progress; refClosed is added by close
}

// States, in bits above the count of users. After close, a late user is still counted for a moment, so the counts must
// not reach these bits.
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

// close releases the reference; false if it was closed before.
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

// drop releases the object once, even if several callers see that no users are left.
func (r *ref) drop() {
	if r.state.CompareAndSwap(refClosed, refDropped) {
		r.obj.release()
	}
}

// watch releases the object if the owner becomes unreachable without Close.
func watch[T any](owner *T, r *ref) {
	goruntime.AddCleanup(owner, func(r *ref) { r.close() }, r)
}

package runtime

/*
#include "bridge/bridge.h"

void tvmgoReleaseOwner(void* handle);

static inline void tvmgo_owner_release(void* handle) {
	if (tvmgo_can_enter_go()) tvmgoReleaseOwner(handle);
}

static inline tvmgo_ret tvmgo_owned_tensor(void* data, const int64_t* shape, int32_t ndim, DLDataType dtype,
                                           uintptr_t owner) {
	DLTensor dl = {.data = data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = dtype, .shape = (int64_t*)shape};
	return tvmgo_bridge_tensor_wrap((uintptr_t)&dl, owner, tvmgo_owner_release);
}
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"sync"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/weights"
)

// FromWeights makes a tensor of a file's tensor on a device. On the CPU it is a view of the mapped file, or of the
// aligned copy that [weights.Tensor.Aligned] makes; it keeps the memory of the set, which you may close. On another
// device it is a copy, and the pages of the file are released. The caller closes the tensor. [Weights] makes each
// tensor once.
//
// The error matches [weights.ErrCorrupt] if the elements cannot be decoded; otherwise it is that of [NewTensor].
func FromWeights(w *weights.Tensor, dev dlpack.Device) (*Tensor, error) {
	const op = "make tensor of weights"
	if dev.Type != dlpack.CPU {
		return uploadWeights(op, w, dev)
	}
	release, err := w.Hold()
	if err != nil {
		return nil, fault.Wrap(op, ErrClosed, err)
	}
	data, err := w.Aligned()
	if err != nil {
		release()
		return nil, weightsError(op, err)
	}
	var at unsafe.Pointer
	if len(data) > 0 {
		at = unsafe.Pointer(unsafe.SliceData(data))
	}
	owner := cgo.NewHandle(release)
	o, err := result(op, C.tvmgo_owned_tensor(at, cDims(w.Shape), C.int32_t(len(w.Shape)), cType(w.DType),
		C.uintptr_t(owner)))
	if err != nil {
		owner.Delete()
		release()
		return nil, err
	}
	return newTensor(o), nil
}

func uploadWeights(op string, w *weights.Tensor, dev dlpack.Device) (*Tensor, error) {
	data, err := w.Data()
	if err != nil {
		return nil, weightsError(op, err)
	}
	t, err := NewTensor(w.DType, w.Shape, dev)
	if err != nil {
		return nil, err
	}
	if err := t.CopyFromBytes(data); err != nil {
		t.Close()
		return nil, err
	}
	w.Release()
	return t, nil
}

func weightsError(op string, err error) error {
	if errors.Is(err, weights.ErrCorrupt) {
		return fault.Wrap(op, ErrInvalidArgument, err)
	}
	return fault.Wrap(op, ErrFailed, err)
}

// tvmgoReleaseOwner calls the function that a tensor of foreign memory was made with.
//
//export tvmgoReleaseOwner
func tvmgoReleaseOwner(handle unsafe.Pointer) {
	h := cgo.Handle(uintptr(handle))
	release := h.Value().(func())
	h.Delete()
	release()
}

// Weights makes tensors of a set of weights, each once for each device, so that models and sessions share them. Its
// methods are safe for concurrent use.
type Weights struct {
	set *weights.Set

	mu     sync.Mutex
	closed bool
	made   map[weightKey]*weight
}

type weightKey struct {
	name string
	dev  dlpack.Device
}

type weight struct {
	once   sync.Once
	tensor *Tensor
	err    error
}

// NewWeights takes over a set: Close closes it.
func NewWeights(set *weights.Set) *Weights {
	return &Weights{set: set, made: map[weightKey]*weight{}}
}

// OpenWeights opens a file as [weights.Open] does.
func OpenWeights(path string) (*Weights, error) {
	set, err := weights.Open(path)
	if err != nil {
		return nil, fault.Wrap("", openKind(err), err)
	}
	return NewWeights(set), nil
}

func openKind(err error) error {
	if errors.Is(err, weights.ErrCorrupt) {
		return ErrInvalidArgument
	}
	return ErrNotFound
}

// Names lists the tensors in the order of the file.
func (w *Weights) Names() []string {
	names := make([]string, 0, len(w.set.Tensors()))
	for _, t := range w.set.Tensors() {
		names = append(names, t.Name)
	}
	return names
}

// Tensor returns the tensor of a name on a device, as [FromWeights] makes it. The first call for a device uploads it;
// others wait for it and share its memory. The caller closes the tensor. The error is ErrNotFound for an unknown name;
// after an error, the next call tries again.
func (w *Weights) Tensor(name string, dev dlpack.Device) (*Tensor, error) {
	const op = "get weights"
	from, err := w.set.Lookup(name)
	if err != nil {
		return nil, fault.Wrap(op, ErrNotFound, err)
	}
	key := weightKey{name, dev}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, fault.IsClosed(op, "set of weights")
	}
	m := w.made[key]
	if m == nil {
		m = new(weight)
		w.made[key] = m
	}
	w.mu.Unlock()
	m.once.Do(func() { m.tensor, m.err = FromWeights(from, dev) })
	if m.err != nil {
		w.mu.Lock()
		if w.made[key] == m {
			delete(w.made, key)
		}
		w.mu.Unlock()
		return nil, m.err
	}
	return m.tensor.again(op)
}

// Close releases the tensors and the set. Tensors that callers still have stay valid.
func (w *Weights) Close() error {
	w.mu.Lock()
	made := w.made
	w.made, w.closed = nil, true
	w.mu.Unlock()
	for _, m := range made {
		m.once.Do(func() { m.err = fault.IsClosed("get weights", "set of weights") })
		m.tensor.Close()
	}
	return w.set.Close()
}

// again returns another reference to the same tensor.
func (t *Tensor) again(op string) (*Tensor, error) {
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	t.ref.obj.retain()
	return newTensor(t.ref.obj), nil
}

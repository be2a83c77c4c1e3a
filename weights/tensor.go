package weights

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/sorting"
)

// chunk is how many bytes are copied before the pages behind them are released.
const chunk = 4 << 20

func address(b []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func aligned(b []byte) bool { return len(b) == 0 || address(b)%dlpack.AllocAlignment == 0 }

// Data returns the elements, little-endian and in row-major order, of Size bytes. They are a view of the file, or of a
// copy that the Set keeps if the tensor has an Encoding or was aligned. The view is valid until the Set is closed.
//
// The error says what is wrong with the encoded elements, that memory does not suffice for the copy, or that the Set is
// closed.
func (t *Tensor) Data() ([]byte, error) {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.data()
}

// data is Data for a caller that holds the lock.
func (t *Tensor) data() ([]byte, error) {
	switch {
	case t.set.users == 0:
		return nil, errClosed
	case t.ready != nil:
		return t.ready, nil
	case t.decode == nil:
		return t.stored, nil
	}
	out, err := t.set.copies.take(t.Size)
	if err != nil {
		return nil, fmt.Errorf("read tensor %q: %w", t.Name, err)
	}
	if err := t.decode(out, t.stored); err != nil {
		t.set.copies.giveBack(out)
		return nil, fmt.Errorf("read tensor %q: %w", t.Name, err)
	}
	t.file.drop(t.stored)
	t.ready = out
	return out, nil
}

// IsView reports whether Data returns a view of the file rather than a copy.
func (t *Tensor) IsView() bool {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.ready == nil && t.decode == nil
}

// IsAligned reports whether Aligned returns what Data returns: elements that begin at a multiple of 64 bytes. It is
// false for views of memory that was given to [Parse], because Go's garbage collector owns that memory.
func (t *Tensor) IsAligned() bool {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.isAligned()
}

func (t *Tensor) isAligned() bool {
	return t.ready != nil || t.decode != nil || aligned(t.stored) && (t.file.mapped || t.file.owned)
}

// Aligned is Data for generated code, which assumes that tensors begin at multiples of 64 bytes: unless IsAligned, it
// copies the elements once, outside Go's heap, and releases the whole pages of the file that they occupy. Views that
// Data returned earlier stay valid, but changes to them are not copied from then on, and may be lost.
func (t *Tensor) Aligned() ([]byte, error) {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.align(func(copied []byte) { t.file.drop(copied) })
}

// align copies an unaligned tensor and calls copied with each part of the file that has been copied.
func (t *Tensor) align(copied func(part []byte)) ([]byte, error) {
	if t.set.users == 0 || t.isAligned() {
		return t.data()
	}
	out, err := t.set.copies.take(t.Size)
	if err != nil {
		return nil, fmt.Errorf("align tensor %q: %w", t.Name, err)
	}
	for at := 0; at < len(out); at += chunk {
		end := min(at+chunk, len(out))
		copy(out[at:end], t.stored[at:end])
		copied(t.stored[at:end])
	}
	t.ready = out
	return out, nil
}

// Hold is [Set.Hold].
func (t *Tensor) Hold() (release func(), err error) { return t.set.Hold() }

// Release tells the system that the elements in the file are not needed in memory for now, for example after they were
// copied to a device. They are read again when they are used again, but changes made through views are lost. While
// there is a Hold, it does nothing, because the holder may have changed elements.
func (t *Tensor) Release() {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.set.users > 0 && t.set.holds == 0 && t.ready == nil {
		t.file.drop(t.stored)
	}
}

// Align makes every tensor aligned, as [Tensor.Aligned] does for one. It also releases the pages of the file that
// contain only tensors which were copied. Call it before other goroutines use views.
func (s *Set) Align() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := slices.Clone(s.tensors)
	sorting.By(order, func(a, b *Tensor) int { return address(a.stored) - address(b.stored) })
	var behind *file
	from := 0 // in the file behind: the begin of what was copied since the last aligned tensor
	for _, t := range order {
		if t.decode != nil || len(t.stored) == 0 {
			continue
		}
		if t.file != behind {
			behind, from = t.file, 0
		}
		begin := address(t.stored) - address(t.file.data)
		if t.ready == nil && t.isAligned() {
			from = begin + len(t.stored)
			continue
		}
		if _, err := t.align(func(part []byte) {
			end := address(part) - address(t.file.data) + len(part)
			t.file.drop(t.file.data[from:end])
			from = end / os.Getpagesize() * os.Getpagesize()
		}); err != nil {
			return err
		}
	}
	return nil
}

// Array returns the tensor in the form that [Write] takes. Its Data is that of Data.
func (t *Tensor) Array() (Array, error) {
	data, err := t.Data()
	return Array{Name: t.Name, DType: t.DType, Shape: t.Shape, Data: data}, err
}

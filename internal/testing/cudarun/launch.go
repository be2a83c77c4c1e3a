package cudarun

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include <string.h>
#include "call.h"
*/
import "C"

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// Library is compiled CUDA C. Goroutines may use it concurrently; its launches run one after the other.
type Library struct {
	path   string
	handle unsafe.Pointer
}

// Error is a failed launch.
type Error struct {
	Code int    // of the driver: 700 illegal address, 716 misaligned address, 719 other failures
	Text string // the kernel, the block, the thread, the line, and the reason
}

func (e *Error) Error() string { return e.Text }

// Dim is a size in up to three dimensions; those that are 0 count as 1.
type Dim [3]int

// Grid is the shape of a launch, and the bytes of its dynamic shared memory.
type Grid struct {
	Blocks, Threads Dim
	Shared          int
}

var opened sync.Map // *Library by path

// Compile compiles CUDA C. Equal sources are compiled once, also by different processes. The error has the compiler's
// messages. The library stays open until the process ends.
func Compile(source string, o Options) (*Library, error) {
	path, err := build(source, o)
	if err != nil {
		return nil, err
	}
	if l, ok := opened.Load(path); ok {
		return l.(*Library), nil
	}
	l := &Library{path: path}
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	if why := C.cudarun_open(p, &l.handle); why != nil {
		return nil, fmt.Errorf("open compiled CUDA C: %s", C.GoString(why))
	}
	kept, _ := opened.LoadOrStore(path, l)
	return kept.(*Library), nil
}

// Path returns the file of the library. It has the list of kernels that fakecuda_kernel.h describes.
func (l *Library) Path() string { return l.path }

// Launch runs a kernel to its end. An argument is a slice of numbers, which is copied to memory of its own and back, or
// a number; its type must have the size of the parameter. nil is a null pointer. A failure of the kernel is an *Error.
func (l *Library) Launch(kernel string, g Grid, args ...any) error {
	name := C.CString(kernel)
	defer C.free(unsafe.Pointer(name))
	k := C.cudarun_find(l.handle, name)
	if k == nil {
		return fmt.Errorf("launch %s: the source has no such kernel", kernel)
	}
	if int(k.nparams) != len(args) {
		return fmt.Errorf("launch %s: it has %d parameters, not %d", kernel, int(k.nparams), len(args))
	}
	var dims [6]C.uint
	threads := 1
	for i := range 3 {
		dims[i], dims[3+i] = C.uint(max(g.Blocks[i], 1)), C.uint(max(g.Threads[i], 1))
		threads *= max(g.Threads[i], 1)
	}
	most := 1024
	if k.max_threads > 0 {
		most = int(k.max_threads)
	}
	if threads > most {
		return fmt.Errorf("launch %s: %d threads in a block, %d are possible", kernel, threads, most)
	}
	var m arguments
	defer m.free()
	values := m.alloc(8 * max(len(args), 1))
	params := m.alloc(8 * max(len(args), 1))
	extents := m.alloc(int(unsafe.Sizeof(C.fakecuda_extent{})) * max(len(args), 1))
	type back struct {
		to   reflect.Value
		from unsafe.Pointer
	}
	var backs []back
	for i, a := range args {
		value := unsafe.Add(values, 8*i)
		unsafe.Slice((*unsafe.Pointer)(params), len(args))[i] = value
		v := reflect.ValueOf(a)
		if a == nil || v.Kind() == reflect.Slice {
			if k.params[i].access == 0 {
				return fmt.Errorf("launch %s: parameter %d is no pointer, but gets %T", kernel, i, a)
			}
			if a == nil || v.Len() == 0 {
				continue
			}
			bytes := v.Len() * int(v.Type().Elem().Size())
			data := m.alloc(bytes)
			C.memcpy(data, v.UnsafePointer(), C.size_t(bytes))
			*(*unsafe.Pointer)(value) = data
			unsafe.Slice((*C.fakecuda_extent)(extents), len(args))[i] = C.fakecuda_extent{base: data,
				bytes: C.size_t(bytes)}
			backs = append(backs, back{v, data})
			continue
		}
		if v.Type().Size() != uintptr(k.params[i].size) || k.params[i].access != 0 {
			return fmt.Errorf("launch %s: parameter %d has %d bytes, but gets %T", kernel, i, int(k.params[i].size), a)
		}
		reflect.NewAt(v.Type(), value).Elem().Set(v)
	}
	text := m.alloc(2048)
	code := C.cudarun_launch(k, &dims[0], C.uint(g.Shared), (*unsafe.Pointer)(params), (*C.fakecuda_extent)(extents),
		(*C.char)(text), 2048)
	for _, b := range backs {
		C.memcpy(b.to.UnsafePointer(), b.from, C.size_t(b.to.Len()*int(b.to.Type().Elem().Size())))
	}
	if code != 0 {
		return &Error{int(code), C.GoString((*C.char)(text))}
	}
	return nil
}

// arguments are allocations that are freed together.
type arguments []unsafe.Pointer

func (m *arguments) alloc(n int) unsafe.Pointer {
	var p unsafe.Pointer
	if C.posix_memalign(&p, 256, C.size_t(n)) != 0 {
		panic("out of memory")
	}
	C.memset(p, 0, C.size_t(n))
	*m = append(*m, p)
	return p
}

func (m *arguments) free() {
	for _, p := range *m {
		C.free(p)
	}
}

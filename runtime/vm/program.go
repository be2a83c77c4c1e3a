package vm

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core -I${SRCDIR}/../../include
#include "bridge/bridge.h"
#include "vm/session.h"

static tvmgo_ret ended(void* made) {
	tvmgo_ret r = {(uintptr_t)made, 0};
	if (made == NULL) r.err = (uintptr_t)tvmgo_error_take();
	return r;
}

// The description has pointers to Go memory, so it is put together here.
static tvmgo_ret program_new(const tvmgo_vm_function* functions, int64_t num_functions, const int64_t* params,
		int64_t num_params, const int64_t* offsets, int64_t num_instructions, const int64_t* words, int64_t num_words,
		const char* texts, int64_t num_texts, int64_t num_constants) {
	tvmgo_vm_description d = {functions, num_functions, params, num_params, offsets, num_instructions, words, num_words,
		texts, num_texts, num_constants};
	return ended(tvmgo_vm_program_new(&d));
}

static tvmgo_ret add_tensor(uintptr_t p, DLDataType dtype, const int64_t* shape, int32_t ndim, uintptr_t data,
		size_t nbytes, const char* scope) {
	tvmgo_vm_program* program = (tvmgo_vm_program*)p;
	int rc = tvmgo_vm_program_add_tensor(program, dtype, shape, ndim, (const void*)data, nbytes, scope);
	return ended(rc == 0 ? program : NULL);
}

// Adds a value of one of the types that are no objects.
static tvmgo_ret add_value(uintptr_t p, int32_t type, uint64_t bits) {
	TVMFFIAny v = {.type_index = type, .v_uint64 = bits};
	return ended(tvmgo_vm_program_add_value((tvmgo_vm_program*)p, &v) == 0 ? (void*)p : NULL);
}

static tvmgo_ret add_object(uintptr_t p, TVMFFIAny made, int rc) {
	if (rc == 0) rc = tvmgo_vm_program_add_value((tvmgo_vm_program*)p, &made);
	tvmgo_any_clear(&made);
	return ended(rc == 0 ? (void*)p : NULL);
}

static tvmgo_ret add_text(uintptr_t p, const char* data, size_t n) {
	TVMFFIAny v = {0};
	int rc = tvmgo_string_make(data, n, &v);
	return add_object(p, v, rc);
}

static tvmgo_ret add_shape(uintptr_t p, const int64_t* dims, size_t n) {
	TVMFFIAny v = tvmgo_any_object(tvmgo_shape_new(dims, n));
	return add_object(p, v, v.v_obj == NULL ? -1 : 0);
}

static tvmgo_ret loader_new(uintptr_t p, uintptr_t module) {
	return ended(tvmgo_vm_loader_new((tvmgo_vm_program*)p, (tvmgo_module*)module));
}

static void program_release(uintptr_t p) { tvmgo_vm_program_release((tvmgo_vm_program*)p); }
*/
import "C"

import (
	"math"
	goruntime "runtime"
	"unsafe"

	"tvmgo/blob/vmcode"
	_ "tvmgo/internal/core" // links the virtual machine
	"tvmgo/internal/raise"
	"tvmgo/runtime"
)

// program is the code of an executable in C. The data of its tensors is that of the executable, which must be pinned if
// it is memory of Go.
type program struct {
	handle C.uintptr_t
	pinned goruntime.Pinner
}

func ended(r C.tvmgo_ret) (uintptr, error) {
	if r.err != 0 {
		return 0, raise.Take("load Relax executable", uintptr(r.err))
	}
	return uintptr(r.value), nil
}

// tables are the tables of an executable as C reads them.
type tables struct {
	functions      []C.tvmgo_vm_function
	params         []C.int64_t
	offsets, words []C.int64_t
	texts          []byte
}

// text adds a text, and returns where it begins.
func (t *tables) text(s string) C.int64_t {
	at := len(t.texts)
	t.texts = append(t.texts, s...)
	return C.int64_t(at)
}

func (t *tables) function(f *vmcode.Function) {
	t.functions = append(t.functions, C.tvmgo_vm_function{kind: C.int32_t(f.Kind), arity: C.int32_t(f.Arity),
		registers: C.int32_t(f.Registers), num_params: C.int32_t(len(f.Parameters)), begin: C.int64_t(f.Begin),
		end: C.int64_t(f.End), name: t.text(f.Name), name_size: C.int64_t(len(f.Name)),
		params: C.int64_t(len(t.params) / 2)})
	for _, p := range f.Parameters {
		t.params = append(t.params, t.text(p), C.int64_t(len(p)))
	}
}

func (t *tables) instruction(in *vmcode.Instruction) {
	t.offsets = append(t.offsets, C.int64_t(len(t.words)))
	t.words = append(t.words, C.int64_t(in.Op))
	switch in.Op {
	case vmcode.Call:
		t.words = append(t.words, C.int64_t(in.Dst), C.int64_t(in.Callee), C.int64_t(len(in.Args)))
		for _, a := range in.Args {
			t.words = append(t.words, C.int64_t(a.Kind)<<56|C.int64_t(a.Value)&(1<<56-1))
		}
	case vmcode.Ret:
		t.words = append(t.words, C.int64_t(in.Source))
	case vmcode.Goto:
		t.words = append(t.words, C.int64_t(in.Jump))
	case vmcode.If:
		t.words = append(t.words, C.int64_t(in.Source), C.int64_t(in.Jump))
	}
}

// newProgram makes the program of an executable. The caller closes it.
func newProgram(e *vmcode.Executable) (*program, error) {
	var t tables
	for i := range e.Functions {
		t.function(&e.Functions[i])
	}
	for i := range e.Code {
		t.instruction(&e.Code[i])
	}
	h, err := ended(C.program_new(unsafe.SliceData(t.functions), C.int64_t(len(t.functions)),
		unsafe.SliceData(t.params), C.int64_t(len(t.params)/2), unsafe.SliceData(t.offsets), C.int64_t(len(t.offsets)),
		unsafe.SliceData(t.words), C.int64_t(len(t.words)), (*C.char)(unsafe.Pointer(unsafe.SliceData(t.texts))),
		C.int64_t(len(t.texts)), C.int64_t(len(e.Constants))))
	if err != nil {
		return nil, err
	}
	p := &program{handle: C.uintptr_t(h)}
	if err := p.describe(e); err != nil {
		p.close()
		return nil, err
	}
	for i := range e.Constants {
		if err := p.add(&e.Constants[i]); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// Type indices of values that are no objects (docs/abi.md B.2).
const (
	indexInt   = 1
	indexFloat = 3
	indexDType = 5
)

func (p *program) add(c *vmcode.Constant) error {
	var r C.tvmgo_ret
	switch c.Kind {
	case vmcode.TensorConstant:
		t := &c.Tensor
		var data unsafe.Pointer
		if len(t.Data) > 0 {
			data = unsafe.Pointer(unsafe.SliceData(t.Data))
			p.pinned.Pin(data) // which has no effect on memory of a file
		}
		scope := append([]byte(c.Scope), 0)
		dtype := C.DLDataType{code: C.uint8_t(t.DType.Code), bits: C.uint8_t(t.DType.Bits),
			lanes: C.uint16_t(t.DType.Lanes)}
		r = C.add_tensor(p.handle, dtype, (*C.int64_t)(unsafe.SliceData(t.Shape)), C.int32_t(len(t.Shape)),
			C.uintptr_t(uintptr(data)), C.size_t(len(t.Data)), (*C.char)(unsafe.Pointer(unsafe.SliceData(scope))))
	case vmcode.ShapeConstant:
		r = C.add_shape(p.handle, (*C.int64_t)(unsafe.SliceData(c.Shape)), C.size_t(len(c.Shape)))
	case vmcode.StringConstant:
		r = C.add_text(p.handle, (*C.char)(unsafe.Pointer(unsafe.StringData(c.Text))), C.size_t(len(c.Text)))
	case vmcode.DTypeConstant:
		d := c.DType
		r = C.add_value(p.handle, indexDType, C.uint64_t(d.Code)|C.uint64_t(d.Bits)<<8|C.uint64_t(d.Lanes)<<16)
	case vmcode.IntConstant:
		r = C.add_value(p.handle, indexInt, C.uint64_t(c.Int))
	default:
		r = C.add_value(p.handle, indexFloat, C.uint64_t(math.Float64bits(c.Float)))
	}
	_, err := ended(r)
	return err
}

// loader returns the function that makes sessions of the program, with the imports of a module.
func (p *program) loader(module uintptr) (*runtime.Function, error) {
	o, err := ended(C.loader_new(p.handle, C.uintptr_t(module)))
	if err != nil {
		return nil, err
	}
	return runtime.FunctionFromHandle(*(*unsafe.Pointer)(unsafe.Pointer(&o)))
}

// close releases the program, which lives as long as a session uses it.
func (p *program) close() {
	C.program_release(p.handle)
	p.pinned.Unpin()
}

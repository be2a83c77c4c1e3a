package vm

/*
#include "bridge/bridge.h"
#include "vm/signature.h"

// The signatures have pointers to Go memory, so they are put together here.
static tvmgo_ret describe(uintptr_t p, const int64_t* first, const tvmgo_vm_type* types, int64_t num_types,
		const tvmgo_vm_dim* dims, int64_t num_dims, const char* texts, int64_t num_texts) {
	tvmgo_vm_signatures s = {first, types, num_types, dims, num_dims, texts, num_texts};
	tvmgo_ret r = {p, 0};
	if (tvmgo_vm_program_describe((tvmgo_vm_program*)p, &s) != 0) r.err = (uintptr_t)tvmgo_error_take();
	return r;
}
*/
import "C"

import (
	"strconv"
	"unsafe"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
)

// signatures are the signatures of an executable as C reads them.
type signatures struct {
	first []C.int64_t
	types []C.tvmgo_vm_type
	dims  []C.tvmgo_vm_dim
	texts []byte
}

func (s *signatures) text(text string) (at, size C.int64_t) {
	at = C.int64_t(len(s.texts))
	s.texts = append(s.texts, text...)
	return at, C.int64_t(len(text))
}

// set fills the entry of a type; the types of its fields are added at the end.
func (s *signatures) set(at int, t *vmcode.Type) {
	v := C.tvmgo_vm_type{kind: kinds[t.Kind], ndim: C.int32_t(t.Rank), device_nth: C.int32_t(t.Device.Index)}
	v.dtype = C.DLDataType{code: C.uint8_t(t.DType.Code), bits: C.uint8_t(t.DType.Bits), lanes: C.uint16_t(t.DType.Lanes)}
	if device, err := dlpack.ParseDeviceType(t.Device.Target); err == nil {
		v.device_type = C.int32_t(device)
	}
	v.text, v.size = s.text(t.Text)
	v.name, v.name_size = s.text(t.Name)
	dims := t.Dims
	if len(dims) != t.Rank {
		dims = nil // the annotation contradicts itself
	}
	v.dims, v.num_dims = C.int64_t(len(s.dims)), C.int32_t(len(dims))
	for _, d := range dims {
		value, err := strconv.ParseInt(d, 10, 64)
		if err != nil || value < 0 {
			value = -1
		}
		dim := C.tvmgo_vm_dim{value: C.int64_t(value)}
		dim.text, dim.size = s.text(d)
		s.dims = append(s.dims, dim)
	}
	fields := len(s.types)
	v.fields, v.num_fields = C.int64_t(fields), C.int32_t(len(t.Fields))
	s.types[at] = v
	s.types = append(s.types, make([]C.tvmgo_vm_type, len(t.Fields))...)
	for i := range t.Fields {
		s.set(fields+i, &t.Fields[i])
	}
}

// kinds are the numbers of the kinds of values in C.
var kinds = map[vmcode.TypeKind]C.int32_t{
	vmcode.AnyType: C.TVMGO_VM_ANY, vmcode.TensorType: C.TVMGO_VM_TENSOR, vmcode.ShapeType: C.TVMGO_VM_SHAPE,
	vmcode.TupleType: C.TVMGO_VM_TUPLE, vmcode.NumberType: C.TVMGO_VM_NUMBER, vmcode.FunctionType: C.TVMGO_VM_FUNCTION,
}

// function adds the signature of the next function.
func (s *signatures) function(f *vmcode.Function, from *vmcode.Signature) {
	if f.Kind == vmcode.Packed || len(from.Parameters) == 0 && from.Result.Text == "" {
		s.first = append(s.first, -1)
		return
	}
	first := len(s.types)
	s.first = append(s.first, C.int64_t(first))
	s.types = append(s.types, make([]C.tvmgo_vm_type, f.Arity+1)...)
	for i := range f.Arity {
		t, ok := from.Parameters[i]
		if !ok {
			t.Rank = -1
		}
		s.set(first+i, &t)
	}
	result := from.Result
	if result.Text == "" {
		result.Rank = -1
	}
	s.set(first+f.Arity, &result)
}

// describe gives the program the signatures of its functions.
func (p *program) describe(e *vmcode.Executable) error {
	var s signatures
	list := e.Signatures()
	for i := range e.Functions {
		s.function(&e.Functions[i], &list[i])
	}
	_, err := ended(C.describe(p.handle, unsafe.SliceData(s.first), unsafe.SliceData(s.types), C.int64_t(len(s.types)),
		unsafe.SliceData(s.dims), C.int64_t(len(s.dims)), (*C.char)(unsafe.Pointer(unsafe.SliceData(s.texts))),
		C.int64_t(len(s.texts))))
	return err
}

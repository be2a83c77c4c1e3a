package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/raise"
	"tvmgo/internal/value"
)

// anyValue is a TVMFFIAny: 16 bytes, a type index, the length of a short string, a payload.
type anyValue struct {
	index int32
	small uint32
	bits  uint64
}

// Type indices of values (docs/abi.md B.2).
const (
	indexNone       = 0
	indexInt        = 1
	indexBool       = 2
	indexFloat      = 3
	indexPtr        = 4
	indexDataType   = 5
	indexDevice     = 6
	indexDLTensor   = 7
	indexRawStr     = 8
	indexByteArray  = 9
	indexSmallStr   = 11
	indexSmallBytes = 12
	indexObject     = 64
	indexStr        = 65
	indexBytes      = 66
	indexError      = 67
	indexFunction   = 68
	indexShape      = 69
	indexTensor     = 70
	indexArray      = 71
	indexMap        = 72
	indexModule     = 73
	indexList       = 75
	indexDict       = 76
)

// Shape is the shape of a tensor as a value: an []int64 with its dimensions in elements.
type Shape = value.Shape

// Entry is a key with its value in a Map.
type Entry = struct{ Key, Value any }

// Map is an ordered map as a value: an []Entry. Keys are unique: a later entry with an equal key replaces the earlier
// one.
type Map = value.Map

// Ptr is an opaque C address as a value: an unsafe.Pointer. The caller and the function agree on its meaning, and on
// who keeps the memory alive.
type Ptr = value.Ptr

// Object is a value of a type that this package has no Go type for. The caller closes it.
type Object struct{ ref *ref }

// TypeIndex is the object's type in the C ABI.
func (o *Object) TypeIndex() int {
	if o == nil || !o.ref.acquire() {
		return indexNone
	}
	defer o.ref.release()
	return int(o.ref.obj.typeIndex())
}

// Close releases the object.
func (o *Object) Close() error {
	if o != nil {
		o.ref.close()
	}
	return nil
}

// packer converts Go values to views for one call. It keeps alive what they point to until release.
type packer struct {
	vals  []anyValue
	used  []*ref   // borrowed: calls in progress
	owned []object // made for this call
	depth int      // nesting depth of the values in containers
}

// maxDepth bounds the nesting of containers: C frees them recursively, and a container that contains itself would never
// end.
const maxDepth = 256

func tooDeep(op string) error {
	return fault.New(op, ErrInvalidArgument, "containers are nested deeper than %d: does one contain itself?", maxDepth)
}

func (p *packer) release() {
	for _, r := range p.used {
		r.release()
	}
	for _, o := range p.owned {
		o.release()
	}
}

func (p *packer) views() *C.TVMFFIAny {
	return (*C.TVMFFIAny)(unsafe.Pointer(unsafe.SliceData(p.vals)))
}

func (p *packer) addAll(op string, args []any) error {
	for i, a := range args {
		if err := p.add(a); err != nil {
			return &Error{Op: fmt.Sprintf("%s: argument %d", op, i), Kind: KindOf(CodeOf(err)),
				Code: CodeOf(err), Message: err.Error(), Err: err}
		}
	}
	return nil
}

func (p *packer) push(index int32, bits uint64) {
	p.vals = append(p.vals, anyValue{index: index, bits: bits})
}

// borrow adds an object that a Go value refers to.
func (p *packer) borrow(r *ref, what string) error {
	if !r.acquire() {
		return fault.IsClosed("", what)
	}
	p.used = append(p.used, r)
	p.push(r.obj.typeIndex(), uint64(r.obj))
	return nil
}

// own adds an object made for this call.
func (p *packer) own(o object, err error) error {
	if err != nil {
		return err
	}
	p.owned = append(p.owned, o)
	p.push(o.typeIndex(), uint64(o))
	return nil
}

func (p *packer) text(s string, bytes bool) error {
	ptr, n := cText(s)
	v, err := anyResult("", C.tvmgo_bridge_string(ptr, n, cBool(bytes)))
	if err != nil {
		return err
	}
	if v.index >= indexObject {
		p.owned = append(p.owned, object(v.bits))
	}
	p.vals = append(p.vals, v)
	return nil
}

func (p *packer) add(arg any) error {
	switch v := arg.(type) {
	case nil:
		p.push(indexNone, 0)
	case bool:
		p.push(indexBool, uint64(cBool(v)))
	case int:
		p.push(indexInt, uint64(v))
	case int8:
		p.push(indexInt, uint64(v))
	case int16:
		p.push(indexInt, uint64(v))
	case int32:
		p.push(indexInt, uint64(v))
	case int64:
		p.push(indexInt, uint64(v))
	case uint8:
		p.push(indexInt, uint64(v))
	case uint16:
		p.push(indexInt, uint64(v))
	case uint32:
		p.push(indexInt, uint64(v))
	case uint:
		return p.unsigned(uint64(v))
	case uint64:
		return p.unsigned(v)
	case float32:
		p.push(indexFloat, math.Float64bits(float64(v)))
	case float64:
		p.push(indexFloat, math.Float64bits(v))
	case dlpack.Float16Bits:
		p.push(indexFloat, math.Float64bits(float64(v.Float32())))
	case dlpack.BFloat16Bits:
		p.push(indexFloat, math.Float64bits(float64(v.Float32())))
	case string:
		return p.text(v, false)
	case []byte:
		return p.text(string(v), true)
	case Ptr:
		p.pointer(unsafe.Pointer(v))
	case unsafe.Pointer:
		p.pointer(v)
	case dlpack.DataType:
		p.push(indexDataType, uint64(v.Code)|uint64(v.Bits)<<8|uint64(v.Lanes)<<16)
	case dlpack.Device:
		p.push(indexDevice, uint64(uint32(v.Type))|uint64(uint32(v.ID))<<32)
	case Shape:
		return p.own(makeShape(v))
	case []any:
		return p.own(makeArray(v, p.depth+1))
	case Map:
		return p.own(makeMap(v, p.depth+1))
	case *Tensor:
		if v == nil {
			p.push(indexNone, 0)
			return nil
		}
		return p.borrow(v.ref, "tensor")
	case *Function:
		if v == nil {
			p.push(indexNone, 0)
			return nil
		}
		return p.borrow(v.ref, "function")
	case *Module:
		if v == nil {
			p.push(indexNone, 0)
			return nil
		}
		return p.borrow(v.ref, "module")
	case *Object:
		if v == nil {
			p.push(indexNone, 0)
			return nil
		}
		return p.borrow(v.ref, "object")
	case error:
		return p.own(object(raise.Give(v)), nil)
	default:
		if added, err := p.addTarget(arg); added {
			return err
		}
		if k := reflect.ValueOf(arg).Kind(); k == reflect.Slice || k == reflect.Array {
			return fault.New("", ErrInvalidArgument, "a %T cannot be passed: make a *Tensor of it with FromSlice, or a "+
				"Shape or []any", arg)
		}
		return fault.New("", ErrInvalidArgument, "a %T cannot be passed: use a number, string, []byte, "+
			"*Tensor, *Function, *Module, *target.Target, *target.Kind, Shape, []any, Map, Ptr, error, dlpack.DataType or "+
			"dlpack.Device", arg)
	}
	return nil
}

func (p *packer) unsigned(v uint64) error {
	if v > math.MaxInt64 {
		return fault.New("", ErrInvalidArgument, "%d does not fit an int64", v)
	}
	p.push(indexInt, v)
	return nil
}

func (p *packer) pointer(v unsafe.Pointer) {
	if v == nil {
		p.push(indexNone, 0)
		return
	}
	p.push(indexPtr, uint64(uintptr(v)))
}

func makeShape(s Shape) (object, error) {
	return result("", C.tvmgo_bridge_shape((*C.int64_t)(unsafe.Pointer(unsafe.SliceData(s))), C.size_t(len(s))))
}

func makeArray(items []any, depth int) (object, error) {
	if depth > maxDepth {
		return 0, tooDeep("")
	}
	p := packer{depth: depth}
	defer p.release()
	if err := p.addAll("array", items); err != nil {
		return 0, err
	}
	return result("", C.tvmgo_bridge_array(p.views(), C.int64_t(len(items))))
}

func makeMap(m Map, depth int) (object, error) {
	if depth > maxDepth {
		return 0, tooDeep("")
	}
	p := packer{depth: depth}
	defer p.release()
	for _, e := range m {
		if err := p.addAll("map", []any{e.Key, e.Value}); err != nil {
			return 0, err
		}
	}
	return result("", C.tvmgo_bridge_map(p.views(), C.int64_t(len(m))))
}

// take converts an owned value to a Go value, which then owns the object.
func (v anyValue) take() (any, error) { return v.takeAt(0) }

// takeAt converts a value at this nesting depth.
func (v anyValue) takeAt(depth int) (any, error) {
	if v.index >= indexObject {
		return takeObject(object(v.bits), depth)
	}
	return v.view()
}

// view converts a borrowed value that is not an object to a Go value; text is copied.
func (v anyValue) view() (any, error) {
	switch v.index {
	case indexNone:
		return nil, nil
	case indexInt:
		return int64(v.bits), nil
	case indexBool:
		return v.bits != 0, nil
	case indexFloat:
		return math.Float64frombits(v.bits), nil
	case indexPtr:
		return Ptr(object(v.bits).pointer()), nil
	case indexDataType:
		return dlpack.DataType{Code: uint8(v.bits), Bits: uint8(v.bits >> 8), Lanes: uint16(v.bits >> 16)}, nil
	case indexDevice:
		return dlpack.Device{Type: dlpack.DeviceType(int32(v.bits)), ID: int32(v.bits >> 32)}, nil
	case indexDLTensor:
		o, err := result("view tensor", C.tvmgo_bridge_tensor_wrap(C.uintptr_t(v.bits), 0, nil))
		if err != nil {
			return nil, err
		}
		return newTensor(o), nil
	case indexRawStr:
		return C.GoString((*C.char)(object(v.bits).pointer())), nil
	case indexByteArray:
		return []byte(goText(*(*C.TVMFFIByteArray)(object(v.bits).pointer()))), nil
	case indexSmallStr, indexSmallBytes:
		var text [8]byte
		*(*uint64)(unsafe.Pointer(&text)) = v.bits
		n := min(int(v.small), 7)
		if v.index == indexSmallStr {
			return string(text[:n]), nil
		}
		return append([]byte{}, text[:n]...), nil
	}
	return nil, fault.New("", ErrNotSupported, "a value of type index %d has no Go form", v.index)
}

// takeObject converts an owned object to a Go value.
func takeObject(o object, depth int) (any, error) {
	switch o.typeIndex() {
	case indexStr:
		defer o.release()
		return o.text(), nil
	case indexBytes:
		defer o.release()
		return []byte(o.text()), nil
	case indexShape:
		defer o.release()
		cell := (*C.TVMFFIShapeCell)(unsafe.Add(o.pointer(), C.sizeof_TVMFFIObject))
		return append(Shape{}, unsafe.Slice((*int64)(unsafe.Pointer(cell.data)), int(cell.size))...), nil
	case indexArray, indexList:
		defer o.release()
		return takeCopies(o.items(), depth+1)
	case indexMap, indexDict:
		defer o.release()
		return o.entries(depth + 1)
	case indexError:
		return raise.Take("", uintptr(o)), nil
	case indexTensor:
		return newTensor(o), nil
	case indexFunction:
		return newFunction(o), nil
	case indexModule:
		return newModule(o), nil
	}
	if v, isTarget, err := takeTarget(o); isTarget {
		return v, err
	}
	obj := &Object{ref: &ref{obj: o}}
	watch(obj, obj.ref)
	return obj, nil
}

// items returns the elements of an Array or List, borrowed.
func (o object) items() []anyValue {
	cell := (*C.TVMFFISeqCell)(unsafe.Add(o.pointer(), C.sizeof_TVMFFIObject))
	return unsafe.Slice((*anyValue)(cell.data), int(cell.size))
}

// text reads a Str or Bytes object.
func (o object) text() string {
	return goText(*(*C.TVMFFIByteArray)(unsafe.Add(o.pointer(), C.sizeof_TVMFFIObject)))
}

// takeCopies converts borrowed values to Go values that own their objects.
func takeCopies(vals []anyValue, depth int) ([]any, error) {
	if depth > maxDepth {
		return nil, tooDeep("read value")
	}
	out := make([]any, 0, len(vals))
	for _, v := range vals {
		if v.index >= indexObject {
			object(v.bits).retain()
		}
		g, err := v.takeAt(depth)
		if err != nil {
			value.CloseAll(out)
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func (o object) entries(depth int) (any, error) {
	n := int64(C.tvmgo_bridge_map_items(C.uintptr_t(o), nil, 0))
	vals := make([]anyValue, 2*n)
	C.tvmgo_bridge_map_items(C.uintptr_t(o), (*C.TVMFFIAny)(unsafe.Pointer(unsafe.SliceData(vals))), C.int64_t(n))
	items, err := takeCopies(vals, depth)
	if err != nil {
		return nil, err
	}
	m := make(Map, n)
	for i := range m {
		m[i] = Entry{items[2*i], items[2*i+1]}
	}
	return m, nil
}

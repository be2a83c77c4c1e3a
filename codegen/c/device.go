package c

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// deviceOf returns the device type of the tensors of a host function; false for the CPU.
func deviceOf(f *tir.PrimFunc) (int64, bool) {
	d, _ := f.Attrs[transform.AttrDevice].(int64)
	return d, d != 0 && d != int64(dlpack.CPU)
}

// deviceOfParam is deviceOf for one tensor, which may have its own attribute.
func deviceOfParam(f *tir.PrimFunc, i int) (int64, bool) {
	if d, ok := f.Attrs[transform.AttrDeviceOf(i)].(int64); ok {
		return d, d != int64(dlpack.CPU)
	}
	return deviceOf(f)
}

// partsOf maps buffer addresses to the parameters of a host function whose tensors may start inside their buffers. The
// data of these tensors is a handle, and the body only passes them to kernels and packed functions. An offset cannot be
// added to a handle: see snippet offset of package abi.
func partsOf(f *tir.PrimFunc) map[*tir.Var]*tir.Var {
	parts := map[*tir.Var]*tir.Var{}
	tensors := map[*tir.Var]*tir.Var{}
	for i, v := range f.Params {
		device, away := deviceOfParam(f, i)
		if b := f.Buffers[v]; b != nil && b.Data != nil && b.Data != v && b.Offset == nil && away && !hasAddresses(device) {
			parts[b.Data], tensors[v] = v, b.Data
		}
	}
	if len(parts) == 0 {
		return nil
	}
	fn := &function{PrimFunc: f}
	var visit func(node any) bool
	visit = func(node any) bool {
		switch n := node.(type) {
		case *tir.Call:
			isPart := n.Kind == tir.CallIntrinsic && n.Name == "tvm_struct_get" && len(n.Args) == 3
			if isPart {
				part, ok := n.Args[2].(*tir.IntImm)
				isPart = ok && part.Value != 1 // of its data
			}
			for _, a := range n.Args {
				v, ok := a.(*tir.Var)
				if ok && (parts[v] != nil && fn.launches(n) || tensors[v] != nil && (isPart || n.Kind == tir.CallPacked)) {
					continue
				}
				tir.Walk(a, visit)
			}
			return false
		case *tir.BufferLoad:
			delete(parts, n.Buffer.Data)
		case *tir.BufferStore:
			delete(parts, n.Buffer.Data)
		case *tir.Var:
			delete(parts, n)
			delete(parts, tensors[n])
		case *tir.AttrStmt:
		default:
			vars, buffers := tir.Named(n)
			for _, b := range buffers {
				vars = append(vars, b.Data)
			}
			for _, v := range vars {
				delete(parts, v)
				delete(parts, tensors[v])
			}
		}
		return true
	}
	tir.Walk(f.Body, visit)
	return parts
}

// launches reports whether a call launches a kernel.
func (fn *function) launches(e *tir.Call) bool {
	names, _ := fn.Attrs[transform.AttrKernels].(string)
	return e.Kind == tir.CallPacked && slices.Contains(strings.Split(names, ","), e.Name)
}

// offset writes the check of the offset of a tensor that may be passed to kernels as a part of its buffer.
func (e *entry) offset(i int, device int64) {
	name := blob.OffsetAlignment(dlpack.DeviceType(device).String())
	found := e.found[name]
	if found == "" {
		found = e.generator.names.pick("found_" + strings.ReplaceAll(name, ".", "_"))
		e.found[name] = found
		e.statics.line("static tvmgo_import %s;", found)
	}
	e.argumentChecks().Offset(i, e.vars[e.f.params[i].v], found, name)
}

// The fields of a DLTensor that tvm_struct_get reads, by Apache TVM's numbers.
var tensorParts = map[int64]string{1: "data", 4: "ndim", 5: "dtype.code", 6: "dtype.bits", 7: "dtype.lanes",
	8: "byte_offset", 9: "device.device_id",
	10: "device.device_type"}

// structGet returns a field of a DLTensor.
func (w *writer) structGet(e *tir.Call) code {
	if len(e.Args) == 3 {
		v, isVar := e.Args[0].(*tir.Var)
		at, fine := e.Args[1].(*tir.IntImm)
		part, known := e.Args[2].(*tir.IntImm)
		if isVar && fine && known && at.Value == 0 && tensorParts[part.Value] != "" && w.fn.isTensor(v) &&
			(part.Value == 1) == tir.IsHandle(e.Type) {
			x := code{w.variable(v, "").in(precAtom) + "->" + tensorParts[part.Value], precAtom}
			if part.Value == 1 {
				return x
			}
			return code{fmt.Sprintf("(%s)%s", w.valueType(e.Type), x.text), precUnary}
		}
	}
	w.fail("tvm_struct_get takes a parameter that is a tensor, 0, and one of the numbers 1 (its data, of type handle) " +
		"and 4 to 10")
	return atom("0")
}

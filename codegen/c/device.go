package c

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// deviceOf is the type of the device that a function of the host is given tensors of; false for the CPU.
func deviceOf(f *tir.PrimFunc) (int64, bool) {
	d, _ := f.Attrs[transform.AttrDevice].(int64)
	return d, d != 0 && d != int64(dlpack.CPU)
}

// deviceOfParam is that of one of its tensors, which may have an attribute of its own.
func deviceOfParam(f *tir.PrimFunc, i int) (int64, bool) {
	if d, ok := f.Attrs[transform.AttrDeviceOf(i)].(int64); ok {
		return d, d != int64(dlpack.CPU)
	}
	return deviceOf(f)
}

// The parts of a tensor's description that tvm_struct_get gives, by Apache TVM's numbers.
var tensorParts = map[int64]string{1: "data", 4: "ndim", 5: "dtype.code", 6: "dtype.bits", 7: "dtype.lanes", 8: "byte_offset", 9: "device.device_id",
	10: "device.device_type"}

// structGet is a part of a tensor's description.
func (w *writer) structGet(e *tir.Call) code {
	if len(e.Args) == 3 {
		v, isVar := e.Args[0].(*tir.Var)
		at, fine := e.Args[1].(*tir.IntImm)
		part, known := e.Args[2].(*tir.IntImm)
		if isVar && fine && known && at.Value == 0 && tensorParts[part.Value] != "" && w.fn.isTensor(v) && (part.Value == 1) == tir.IsHandle(e.Type) {
			x := code{w.variable(v, "").in(precAtom) + "->" + tensorParts[part.Value], precAtom}
			if part.Value == 1 {
				return x
			}
			return code{fmt.Sprintf("(%s)%s", w.valueType(e.Type), x.text), precUnary}
		}
	}
	w.fail("tvm_struct_get takes a parameter that is a tensor, 0, and one of the numbers 1 (its data, of type handle) and 4 to 10")
	return atom("0")
}

package c

import (
	"fmt"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// checkIndex writes the check of an index before the statement that uses it. If the index is outside of its dimension,
// the function returns an error.
func (w *writer) checkIndex(e *tir.Call, i string) code {
	var buffer *tir.StringImm
	var dim *tir.IntImm
	if len(e.Args) == 4 {
		buffer, _ = e.Args[2].(*tir.StringImm)
		dim, _ = e.Args[3].(*tir.IntImm)
	}
	if w.kernels || buffer == nil || dim == nil {
		w.fail("check_index takes an index, a size, the name of a buffer and a dimension, and is for the CPU")
		return atom("0")
	}
	x := e.Args[0]
	var c code
	if x.DType().Lanes == 1 && w.beyond(x) {
		c = w.in64(x)
	} else {
		c = w.lane(x, i)
	}
	index, size := w.temp("index"), w.temp("size")
	w.line("const int64_t %s = (int64_t)%s, %s = (int64_t)%s;", index, c.in(precUnary), size,
		w.lane(e.Args[1], "").in(precUnary))
	w.snippet("outside")
	w.line("if ((uint64_t)%s >= (uint64_t)%s) %s", index, size,
		w.leaving(fmt.Sprintf("tvmgo_outside(%s, %s, %d, (long long)%s, (long long)%s)",
			abi.Literal(shownName(w.fn.PrimFunc)), abi.Literal(buffer.Value), dim.Value, index, size)))
	return atom(index)
}

// report stores an index outside of its dimension in the record that is passed to the kernel.
func (w *writer) report(e *tir.Call, i string) code {
	if len(e.Args) == 4 && w.kernels {
		if a, ok := e.Args[0].(*tir.Call); ok && a.Name == "address_of" && len(a.Args) == 1 {
			if l, ok := a.Args[0].(*tir.BufferLoad); ok {
				w.snippet("report")
				return atom(fmt.Sprintf("tvmgo_report(&%s, %s, %s, %s)", w.element(l.Buffer, l.Indices, ""),
					w.lane(e.Args[1], i).text, w.lane(e.Args[2], i).text, w.lane(e.Args[3], i).text))
			}
		}
	}
	w.fail("report_index takes the address of a record, a number, an index and a size, and is for kernels")
	return atom("false")
}

// reports clears or reads the record in which kernels report indices outside of their dimensions.
func (w *writer) reports(e *tir.Call) code {
	device, away := deviceOf(w.fn.PrimFunc)
	if w.kernels || w.classic || !away || w.deviceID == "" || len(e.Args) == 0 {
		w.fail("%s is for functions that launch kernels, by the tvm-ffi convention", e.Name)
		return code{}
	}
	record := w.expr(e.Args[0]).text
	w.snippet("reports")
	if e.Name == transform.ClearReports {
		w.try(fmt.Sprintf("tvmgo_clear_reports(&%s, %d, %s, %s)", w.lookUp("runtime.TVMTensorCopyFromBytes"), device,
			w.deviceID, record))
		return code{}
	}
	accesses := w.temp("accesses")
	w.line("static const tvmgo_access %s[] = {", accesses)
	for rest := e.Args[1:]; len(rest) > 1; rest = rest[2:] {
		buffer, named := rest[0].(*tir.StringImm)
		dim, constant := rest[1].(*tir.IntImm)
		if !named || !constant {
			w.fail("%s takes the name of a buffer and a dimension for each access", e.Name)
			return code{}
		}
		w.line("    {%s, %d},", abi.Literal(buffer.Value), dim.Value)
	}
	w.line("};")
	w.try(fmt.Sprintf("tvmgo_check_reports(&%s, %d, %s, %s, %s, %s, %d)", w.lookUp("runtime.TVMTensorCopyToBytes"),
		device, w.deviceID, record, abi.Literal(shownName(w.fn.PrimFunc)), accesses, len(e.Args)/2))
	return code{}
}

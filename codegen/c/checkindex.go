package c

import (
	"fmt"

	"tvmgo/tir"
)

// checkIndex is an index that ends the function with an error if it is outside of its dimension, before the statement that it stands in.
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
	w.line("const int64_t %s = (int64_t)%s, %s = (int64_t)%s;", index, c.in(precUnary), size, w.lane(e.Args[1], "").in(precUnary))
	w.helper("index")
	w.line("if ((uint64_t)%s >= (uint64_t)%s) %s", index, size, w.leaving(fmt.Sprintf("tvmgo_outside(%s, %s, %d, (long long)%s, (long long)%s)",
		literal(w.fn.Name), literal(buffer.Value), dim.Value, index, size)))
	return atom(index)
}

package c

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// everySecond returns a vector of every second element from memory, as lanes of two vectors: the second one ends with
// the last element, so that nothing behind it is read. It returns false for other loads.
func (w *writer) everySecond(e *tir.BufferLoad) (code, bool) {
	t, n := e.DType(), int(e.DType().Lanes)
	if w.hooks.Vectors != nil || e.Buffer.Strides != nil || n < 4 || n&(n-1) != 0 || !w.isNative(t) ||
		tir.IsBool(t) || t.Bits < 32 {
		return code{}, false
	}
	last := len(e.Indices) - 1
	at := append([]tir.Expr{}, e.Indices...)
	r, ok := at[last].(*tir.Ramp)
	if !ok {
		return code{}, false
	}
	if step, ok := tir.IntValue(r.Stride); !ok || step != 2 {
		return code{}, false
	}
	at[last] = r.Base
	for _, x := range at {
		if x.DType().Lanes > 1 {
			return code{}, false
		}
	}
	from := w.temp("from")
	w.line("%s const* const %s = &%s[%s];", w.storageType(e.Buffer.DType), from, w.pointer(e.Buffer),
		w.address(e.Buffer, at, "", true).text)
	half := func(offset int) string { return fmt.Sprintf("*(%s const*)(%s + %d)", w.memoryVector(t), from, offset) }
	return atom(fmt.Sprintf("%s(%s, %s)", w.secondLanes(t), half(0), half(n-1))), true
}

// secondLanes returns the name of a macro that takes the even lanes of a vector, and the odd ones of another.
func (w *writer) secondLanes(t tir.Type) string {
	vector, n := w.vectorType(t), int(t.Lanes)
	name := "tvmgo_second_" + vector
	lanes := make([]string, n)
	for i := range lanes {
		if lanes[i] = fmt.Sprint(2 * i); 2*i >= n {
			lanes[i] = fmt.Sprint(2*i + 1)
		}
	}
	list := strings.Join(lanes, ", ")
	mask := w.vectorType(signedMask(t))
	w.snippetText(name, fmt.Sprintf("#if defined(__clang__)\n"+
		"#define %[1]s(a, b) __builtin_shufflevector(a, b, %[2]s)\n#else\n"+
		"#define %[1]s(a, b) __builtin_shuffle(a, b, (%[3]s){%[2]s})\n#endif\n", name, list, mask))
	return name
}

package te

import (
	"fmt"

	"tvmgo/tir"
)

// stridedArg is an argument of Lower whose elements need not lie next to each other.
type stridedArg struct{ t *Tensor }

// Strided makes an argument of Lower of a tensor whose strides, and whose first element's place, are whatever the caller's tensor says: a view of another
// one. Code for it is slower than for a compact one. Views that are written may not have two indices of one element.
func Strided(t *Tensor) any { return &stridedArg{t} }

// asView gives a buffer variables for its strides and its offset.
func asView(b *tir.Buffer) {
	b.Strides = make([]tir.Expr, len(b.Shape))
	for d := range b.Strides {
		b.Strides[d] = tir.NewVar(fmt.Sprintf("%s_stride%d", b.Name, d), tir.Int64)
	}
	b.Offset = tir.NewVar(b.Name+"_offset", tir.Int64)
}

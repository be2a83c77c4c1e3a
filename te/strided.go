package te

import (
	"fmt"

	"tvmgo/tir"
)

// stridedArg is an argument of Lower whose elements need not be contiguous.
type stridedArg struct{ t *Tensor }

// Strided returns an argument for Lower: tensor t with the strides and the offset of the caller's tensor, which may be
// a view of another one. The code is slower than for a compact tensor. In a view that is written, no two indices may
// refer to the same element.
func Strided(t *Tensor) any { return &stridedArg{t} }

// asView gives a buffer variable strides and a variable offset.
func asView(b *tir.Buffer) {
	b.Strides = make([]tir.Expr, len(b.Shape))
	for d := range b.Strides {
		b.Strides[d] = tir.NewVar(fmt.Sprintf("%s_stride%d", b.Name, d), tir.Int64)
	}
	b.Offset = tir.NewVar(b.Name+"_offset", tir.Int64)
}

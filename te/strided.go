package te

import (
	"fmt"

	"tvmgo/tir"
)

// stridedArg is an argument of Lower whose elements need not lie next to each other.
type stridedArg struct{ t *Tensor }

// Strided makes an argument of Lower from a tensor whose strides and offset are those of the caller's tensor, which may
// be a view of another one. Its code is slower than that for a compact tensor. In a view that is written, no two
// indices may share an element.
func Strided(t *Tensor) any { return &stridedArg{t} }

// asView gives a buffer variables for its strides and its offset.
func asView(b *tir.Buffer) {
	b.Strides = make([]tir.Expr, len(b.Shape))
	for d := range b.Strides {
		b.Strides[d] = tir.NewVar(fmt.Sprintf("%s_stride%d", b.Name, d), tir.Int64)
	}
	b.Offset = tir.NewVar(b.Name+"_offset", tir.Int64)
}

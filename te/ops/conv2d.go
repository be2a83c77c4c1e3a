package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Conv2D convolves [batch, channel, height, width] with filters [out, channel, kernel height, kernel width], with the same stride and padding in
// both directions.
func Conv2D(x, w *te.Tensor, name string, stride, padding int) *te.Tensor {
	if bad := check(name, 4, x, w); bad != nil {
		return bad
	}
	if stride < 1 || padding < 0 {
		return failed(name, "stride %d and padding %d: want a stride of 1 or more, and no negative padding", stride, padding)
	}
	f := w.ProducerShape()
	if c := x.ProducerShape()[1]; !sameSize(c, f[1]) {
		return failed(name, "tensor %s has %s channels, and the filters %s have %s", x.ProducerName(), tir.Print(c), w.ProducerName(), tir.Print(f[1]))
	}
	if padding > 0 {
		x = Pad(x, name+".pad", []int{0, 0, padding, padding}, []int{0, 0, padding, padding})
	}
	s := x.ProducerShape()
	axis := func(n tir.Expr, name string) *tir.IterVar { return te.ReduceAxis(tir.IntConst(n.DType(), 0), n, name) }
	c, p, q := axis(f[1], "c"), axis(f[2], "p"), axis(f[3], "q")
	size := func(n, k tir.Expr) tir.Expr {
		a, ok := n.(*tir.IntImm)
		if b, both := k.(*tir.IntImm); ok && both {
			return tir.IntConst(a.Type, max(0, (a.Value-b.Value+int64(stride))/int64(stride)))
		}
		return tir.FloorDiv(tir.Add(tir.Sub(n, k), tir.IntConst(n.DType(), int64(stride))), tir.IntConst(n.DType(), int64(stride)))
	}
	return te.Compute([]tir.Expr{s[0], f[0], size(s[2], f[2]), size(s[3], f[3])}, name, func(i ...tir.Expr) tir.Expr {
		at := func(i tir.Expr, k *tir.Var) tir.Expr {
			return tir.Add(tir.Mul(i, tir.IntConst(i.DType(), int64(stride))), k)
		}
		return te.Sum(tir.Mul(x.At(i[0], c.Var, at(i[2], p.Var), at(i[3], q.Var)), w.At(i[1], c.Var, p.Var, q.Var)), c, p, q)
	})
}

package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// matmul multiplies as NumPy: a vector is a row on the left, and a column on the right.
func matmul(x, y *te.Tensor, name string, options ...ops.MatmulOption) *te.Tensor {
	left, right := len(x.ProducerShape()) == 1, len(y.ProducerShape()) == 1
	if left {
		x = withAxis(x, 0, name)
	}
	if right {
		y = withAxis(y, 1, name)
	}
	out := ops.Matmul(x, y, name, options...)
	if out.Err() != nil {
		return out
	}
	if rank := len(out.ProducerShape()); right {
		out = withoutAxis(out, rank-1, name)
	}
	if rank := len(out.ProducerShape()); left {
		at := rank - 2
		if right {
			at = rank - 1
		}
		out = withoutAxis(out, at, name)
	}
	return out
}

// withAxis inserts a dimension of size 1.
func withAxis(x *te.Tensor, axis int, name string) *te.Tensor {
	shape := append([]tir.Expr{}, x.ProducerShape()...)
	shape = append(shape[:axis], append([]tir.Expr{tir.I32(1)}, shape[axis:]...)...)
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		return x.At(append(append([]tir.Expr{}, i[:axis]...), i[axis+1:]...)...)
	})
}

// withoutAxis removes a dimension of size 1.
func withoutAxis(x *te.Tensor, axis int, name string) *te.Tensor {
	shape := append([]tir.Expr{}, x.ProducerShape()[:axis]...)
	shape = append(shape, x.ProducerShape()[axis+1:]...)
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := append(append([]tir.Expr{}, i[:axis]...), tir.I32(0))
		return x.At(append(at, i[axis:]...)...)
	})
}

const rowsFit = "the columns of operand 0 and the rows of operand 1 have to be equally many"

// gemm is alpha·A·B + beta·C, with operands that may be transposed.
func gemm(c *graph.Call) *te.Tensor {
	var options []ops.MatmulOption
	if c.Flag("transA") {
		options = append(options, ops.TransposeX())
	}
	if c.Flag("transB") {
		options = append(options, ops.TransposeY())
	}
	x, y := c.In(0), c.In(1)
	if c.Rank(0) == 2 && c.Rank(1) == 2 {
		inner := c.Shape(0)[1]
		if c.Flag("transA") {
			inner = c.Shape(0)[0]
		}
		d := 0
		if c.Flag("transB") {
			d = 1
		}
		y = sized(c, y, d, inner, rowsFit)
	}
	out := ops.Matmul(x, y, c.Name, options...)
	alpha, beta := c.Float("alpha"), c.Float("beta")
	if alpha != 1 {
		out = ops.Map(out, c.Name, func(e tir.Expr) tir.Expr { return tir.Mul(of(e, alpha), e) })
	}
	if !c.Has(2) || beta == 0 {
		return out
	}
	in := aligned(c, out, c.In(2))
	return ops.Zip(in[0], in[1], c.Name, func(a, b tir.Expr) tir.Expr {
		if beta != 1 {
			b = tir.Mul(of(b, beta), b)
		}
		return tir.Add(a, b)
	})
}

func init() {
	register(
		simple("matmul", 2, func(c *graph.Call) *te.Tensor {
			atLeast(c, 0, 1)
			atLeast(c, 1, 1)
			return matmul(c.In(0), sized(c, c.In(1), max(c.Rank(1)-2, 0), c.Shape(0)[c.Rank(0)-1], rowsFit), c.Name)
		}),
		with("einsum", 1, -1, func(c *graph.Call) *te.Tensor { return ops.Einsum(c.Name, c.Text("equation"), c.All()...) },
			word("equation", "")),
		simple("det", 1, func(c *graph.Call) *te.Tensor { return ops.Det(c.In(0), c.Name) }),
		with("gemm", 2, 3, gemm, float("alpha", 1), float("beta", 1), integer("transA", 0), integer("transB", 0)),
	)
}

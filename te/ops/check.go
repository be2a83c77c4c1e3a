package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

// failed is a tensor with an error.
func failed(name, format string, args ...any) *te.Tensor {
	err := &tir.Bad{Err: fmt.Errorf(format, args...)}
	return te.Compute(nil, name, func(...tir.Expr) tir.Expr { return err })
}

// check says whether tensors are there, and have as many dimensions as they should; nil if so.
func check(name string, dims int, all ...*te.Tensor) *te.Tensor {
	for i, t := range all {
		if err := t.Err(); err != nil {
			return failed(name, "operand %d: %w", i, err)
		}
		if n := len(t.ProducerShape()); dims >= 0 && n != dims {
			return failed(name, "operand %d, tensor %s, has %d dimensions: want %d", i, t.ProducerName(), n, dims)
		}
	}
	return nil
}

func isOne(n tir.Expr) bool {
	c, ok := n.(*tir.IntImm)
	return ok && c.Value == 1
}

// sameSize says whether two sizes are the same number, or the same expression.
func sameSize(a, b tir.Expr) bool {
	x, ok := a.(*tir.IntImm)
	if y, both := b.(*tir.IntImm); ok && both {
		return x.Value == y.Value
	}
	return tir.Equal(a, b)
}

// plus is n + c, computed where n is constant.
func plus(n tir.Expr, c int) tir.Expr {
	if k, ok := n.(*tir.IntImm); ok {
		return tir.IntConst(k.Type, k.Value+int64(c))
	}
	if c == 0 {
		return n
	}
	return tir.Add(n, tir.IntConst(n.DType(), int64(c)))
}

package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// bitwise applies an intrinsic to the bits of two tensors of integers.
func bitwise(x, y *te.Tensor, name, intrinsic string) *te.Tensor {
	return zipOf(ints, x, y, name, func(a, b tir.Expr) tir.Expr { return tir.Intrin(intrinsic, a, b) })
}

// BitwiseAnd has the bits that both integers have, broadcast as by Zip.
func BitwiseAnd(x, y *te.Tensor, name string) *te.Tensor { return bitwise(x, y, name, "bitwise_and") }

// BitwiseOr has the bits that at least one of two integers has.
func BitwiseOr(x, y *te.Tensor, name string) *te.Tensor { return bitwise(x, y, name, "bitwise_or") }

// BitwiseXor has the bits that exactly one of two integers has.
func BitwiseXor(x, y *te.Tensor, name string) *te.Tensor { return bitwise(x, y, name, "bitwise_xor") }

// LeftShift moves the bits of x by y places up; zeros enter. By a negative number of places, or by as many as the type
// has or more, it gives 0.
func LeftShift(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(ints, x, y, name, func(a, b tir.Expr) tir.Expr {
		return shifted("shift_left", a, b, tir.Const(a.DType(), 0))
	})
}

// RightShift moves the bits of x by y places down; the sign enters, or zeros if the type has none. By a negative number
// of places, or by as many as the type has or more, it gives -1 for negative x, else 0.
func RightShift(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(ints, x, y, name, func(a, b tir.Expr) tir.Expr {
		beyond := tir.Const(a.DType(), 0)
		if t := a.DType(); tir.IsSigned(t) {
			beyond = tir.NewSelect(tir.LT(a, tir.Const(t, 0)), tir.Const(t, -1), tir.Const(t, 0))
		}
		return shifted("shift_right", a, b, beyond)
	})
}

// shifted shifts a by b places; by more places than the type has it is beyond.
func shifted(intrinsic string, a, b, beyond tir.Expr) tir.Expr {
	t := a.DType()
	zero, bits := tir.Const(t, 0), tir.Const(t, float64(t.Bits))
	within := tir.LT(b, bits)
	if tir.IsSigned(t) {
		within = tir.And(tir.GE(b, zero), within)
	}
	return tir.NewSelect(within, tir.Intrin(intrinsic, a, tir.NewSelect(within, b, zero)), beyond)
}

package gpuprograms

import (
	"testing"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Scaled builds a library for a kind of target with the function name(x, y), y = x · by, of n float32. It is closed at
// the end of the test.
func Scaled(t testing.TB, kind, name string, n int32, by float32) *runtime.Module {
	t.Helper()
	x := te.Placeholder(te.Dims(n), tir.Float32, "x")
	y := te.Compute(te.Dims(n), "y", func(i ...tir.Expr) tir.Expr { return tir.Mul(x.At(i...), tir.F32(by)) })
	return library(t, kind, name, y, x, y)
}

// Sum builds a library for a kind of target with the function name(x, y, z), z = x + y, of n float32. It is closed at
// the end of the test.
func Sum(t testing.TB, kind, name string, n int32) *runtime.Module {
	t.Helper()
	x, y := te.Placeholder(te.Dims(n), tir.Float32, "x"), te.Placeholder(te.Dims(n), tir.Float32, "y")
	z := te.Compute(te.Dims(n), "z", func(i ...tir.Expr) tir.Expr { return tir.Add(x.At(i...), y.At(i...)) })
	return library(t, kind, name, z, x, y, z)
}

func library(t testing.TB, kind, name string, out *te.Tensor, args ...any) *runtime.Module {
	t.Helper()
	to := must.Get(target.New(kind))(t)
	s := must.Get(ops.Schedule(to, out))(t)
	return must.Open(codegen.Build(must.Get(te.Lower(s, args, name))(t), to))(t)
}

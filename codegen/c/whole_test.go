//go:build cgo

package c_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// undefinedFree compiles a module with a sanitizer that ends the program at undefined behaviour, and with an optimizing
// compiler that exploits it.
func undefinedFree(t *testing.T, m *tir.IRModule) []*runtime.Module {
	t.Helper()
	dir := t.TempDir()
	code := filepath.Join(dir, "program.c")
	require.NoError(t, os.WriteFile(code, []byte(emit(t, c.Emitter{}, m)), 0o666))
	var all []*runtime.Module
	for i, command := range [][]string{
		{"gcc", "-O0", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"},
		{"gcc", "-O2", "-march=native", "-ffp-contract=off"}, {"clang", "-O2", "-ffp-contract=off"},
	} {
		if _, err := exec.LookPath(command[0]); err != nil {
			require.Empty(t, os.Getenv("CI"), err)
			t.Logf("no %s", command[0])
			continue
		}
		lib := filepath.Join(dir, fmt.Sprintf("program%d.so", i))
		args := append(command[1:], "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I../../include", code,
			"-o", lib, "-lm")
		out, err := exec.Command(command[0], args...).CombinedOutput()
		require.NoError(t, err, "%v: %s", command, out)
		l := must.Open(runtime.Load(context.Background(), lib))(t)
		all = append(all, l)
	}
	return all
}

// edges returns the edge cases of a type.
func edges(e tir.Type) []float64 {
	switch {
	case e == tir.Bool:
		return []float64{0, 1}
	case tir.IsFloat(e):
		return []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 127.5, -128.5, 255.9, 300, 32768, -32769, 65535, 70000,
			2147483648, -2147483904, 4294967296,
			1 << 53, 1 << 62, 1 << 63, -(1 << 63), 1.8446744073709552e19, 3e38, math.Inf(1), math.Inf(-1), math.NaN()}
	case !tir.IsSigned(e):
		return []float64{0, 1, 2, 3, 7, math.Ldexp(1, int(e.Bits)-1), math.Ldexp(1, int(e.Bits)-1) - 1,
			math.Ldexp(1, min(int(e.Bits), 53)) - 1}
	}
	top := math.Ldexp(1, int(e.Bits)-1)
	return []float64{0, 1, -1, 2, -2, 3, -7, 10, -top, -top / 2, math.Ldexp(1, min(int(e.Bits)-1, 53)) - 1, top / 2}
}

// pairs returns all pairs of values.
func pairs(e tir.Type) (a, b []float64) {
	for _, x := range edges(e) {
		for _, y := range edges(e) {
			a, b = append(a, x), append(b, y)
		}
	}
	for len(a)%16 != 0 {
		a, b = append(a, 1), append(b, 1)
	}
	return a, b
}

// overPairs is a function of two input tensors of a type that computes several others, element by element, by vectors
// of a number of lanes.
func overPairs(name string, e tir.Type, n, lanes int, makes ...func(a, b tir.Expr) tir.Expr) *tir.PrimFunc {
	i := tir.NewVar("i", tir.Int32)
	a, b := tir.NewBuffer("A", e, tir.I32(int32(n))), tir.NewBuffer("B", e, tir.I32(int32(n)))
	var index tir.Expr = i
	if lanes > 1 {
		index = &tir.Ramp{Base: tir.Mul(i, tir.I32(int32(lanes))), Stride: tir.I32(1), Lanes: lanes}
	}
	buffers := []*tir.Buffer{a, b}
	var body []tir.Stmt
	for k, f := range makes {
		value := f(at(a, index), at(b, index))
		out := tir.NewBuffer(fmt.Sprintf("C%d", k), tir.Element(value.DType()), tir.I32(int32(n)))
		buffers, body = append(buffers, out), append(body, store(out, value, index))
	}
	return tensors(name, loop(tir.Serial, i, tir.I32(int32(n/lanes)), tir.Sequence(body...)), buffers...)
}

// edgeCase is a function, and a predicate for second operands that the interpreter rejects.
type edgeCase struct {
	f    *tir.PrimFunc
	e    tir.Type
	skip func(b float64) bool
}

// edgeCases returns all operations on all types.
func edgeCases() (all []edgeCase) {
	for _, e := range elementTypes {
		var plain, divisions, shifts []func(a, b tir.Expr) tir.Expr
		if !tir.IsBool(e) {
			for op := tir.OpAdd; op <= tir.OpGE; op++ {
				f := func(a, b tir.Expr) tir.Expr { return tir.NewBinary(op, a, b) }
				switch divides := op >= tir.OpDiv && op <= tir.OpFloorMod; {
				case divides && tir.IsInt(e):
					divisions = append(divisions, f)
				case divides && op != tir.OpDiv && e != tir.Float64 && e != tir.Float32: // remainders of halves are rounded twice
				default:
					plain = append(plain, f)
				}
			}
			plain = append(plain, func(a, b tir.Expr) tir.Expr {
				return tir.Sub(tir.Add(tir.Mul(a, b), tir.Mul(b, b)), tir.Mul(a, tir.Const(e, 3)))
			})
		}
		for _, to := range elementTypes {
			plain = append(plain, func(a, _ tir.Expr) tir.Expr { return tir.NewCast(tir.Vector(to, int(a.DType().Lanes)), a) })
		}
		if tir.IsInt(e) {
			for _, name := range []string{"shift_left", "shift_right"} {
				shifts = append(shifts, func(a, b tir.Expr) tir.Expr { return tir.Intrin(name, a, b) })
			}
			for _, name := range []string{"abs", "bitwise_not"} {
				plain = append(plain, func(a, _ tir.Expr) tir.Expr { return tir.Intrin(name, a) })
			}
		}
		values, _ := pairs(e)
		for _, lanes := range []int{1, 4} {
			add := func(name string, fs []func(a, b tir.Expr) tir.Expr, skip func(b float64) bool) {
				if len(fs) > 0 {
					all = append(all, edgeCase{overPairs(fmt.Sprintf("%s_%s_%d", name, e, lanes), e, len(values), lanes, fs...), e,
						skip})
				}
			}
			add("plain", plain, nil)
			add("divisions", divisions, func(b float64) bool { return b == 0 })
			add("shifts", shifts, func(b float64) bool { return b < 0 || b >= float64(e.Bits) })
		}
	}
	return all
}

// TestWhole_Edges compares all operations at the edges of all types with the interpreter, compiled so that undefined
// behaviour is detected.
func TestWhole_Edges(t *testing.T) {
	all := edgeCases()
	var funcs []*tir.PrimFunc
	for _, x := range all {
		funcs = append(funcs, x.f)
	}
	m := module(t, funcs...)
	reference := must.Get(tirrun.Compile(m, tirrun.Options{}))(t)
	libs := undefinedFree(t, m)
	for _, x := range all {
		a, b := pairs(x.e)
		for i := range b {
			if x.skip != nil && x.skip(b[i]) {
				b[i] = 1
			}
		}
		n := int64(len(a))
		left := must.Get(tirrun.From(x.e, a, n))(t)
		right := must.Get(tirrun.From(x.e, b, n))(t)
		wanted := []any{left, right}
		for _, p := range x.f.Params[2:] {
			out := must.Get(tirrun.New(x.f.Buffers[p].DType, n))(t)
			wanted = append(wanted, out)
		}
		_, err := reference.Call(x.f.Name, wanted...)
		require.NoError(t, err, x.f.Name)
		for k, l := range libs {
			args := []any{like(t, left), like(t, right)}
			for _, p := range x.f.Params[2:] {
				args = append(args, modules.Empty(t, x.f.Buffers[p].DType, n))
			}
			must.Get(modules.Call(t, l, x.f.Name, args...))(t)
			for c := range args[2:] {
				same(t, wanted[c+2].(*tirrun.Array), args[c+2].(*runtime.Tensor),
					fmt.Sprintf("%s, library %d, result %d", x.f.Name, k, c))
			}
		}
	}
}

// like returns an array of the interpreter as a tensor.
func like(t *testing.T, a *tirrun.Array) *runtime.Tensor {
	x := modules.Empty(t, a.DType, a.Shape...)
	require.NoError(t, x.CopyFromBytes(a.Data))
	return x
}

// TestWhole_WhatTheInterpreterRejects tests division by 0, and shifts by more bits than the type has.
func TestWhole_WhatTheInterpreterRejects(t *testing.T) {
	ops := []tir.BinaryOp{tir.OpDiv, tir.OpFloorDiv, tir.OpMod, tir.OpFloorMod}
	var funcs []*tir.PrimFunc
	types := []tir.Type{tir.Int8, tir.Int32, tir.Int64, tir.UInt8, tir.UInt32, tir.UInt64}
	for _, e := range types {
		for _, lanes := range []int{1, 4} {
			for _, op := range ops {
				funcs = append(funcs, overPairs(fmt.Sprintf("op%d_%s_%d", op, e, lanes), e, 4, lanes,
					func(a, b tir.Expr) tir.Expr { return tir.NewBinary(op, a, b) }))
			}
			for _, name := range []string{"shift_left", "shift_right"} {
				funcs = append(funcs, overPairs(fmt.Sprintf("%s_%s_%d", name, e, lanes), e, 4, lanes,
					func(a, b tir.Expr) tir.Expr { return tir.Intrin(name, a, b) }))
			}
		}
	}
	for _, l := range undefinedFree(t, module(t, funcs...)) {
		for _, e := range types {
			last := -9.0
			if !tir.IsSigned(e) {
				last = 9
			}
			do := func(name string, b, want []float64) {
				for _, lanes := range []int{1, 4} {
					x := must.Get(tirrun.From(e, []float64{0, 1, 7, last}, 4))(t)
					y := must.Get(tirrun.From(e, b, 4))(t)
					z := must.Get(tirrun.From(e, want, 4))(t)
					got := modules.Empty(t, e, 4)
					_, err := modules.Call(t, l, fmt.Sprintf("%s_%s_%d", name, e, lanes), like(t, x), like(t, y), got)
					require.NoError(t, err)
					same(t, z, got, fmt.Sprintf("%s of %s", name, e))
				}
			}
			for _, op := range ops {
				want := []float64{0, 0, 0, 0}
				if op == tir.OpMod || op == tir.OpFloorMod {
					want = []float64{0, 1, 7, last}
				}
				do(fmt.Sprintf("op%d", op), []float64{0, 0, 0, 0}, want)
			}
			n := float64(e.Bits)
			do("shift_left", []float64{n, n + 1, n + 40, 100}, []float64{0, 0, 0, 0})
			gone := []float64{0, 0, 0, math.Max(-1, math.Min(last, 0))}
			do("shift_right", []float64{n, n + 1, n + 40, 100}, gone)
			if tir.IsSigned(e) {
				do("shift_right", []float64{-1, -1, -1, -100}, gone)
			}
		}
	}
}

// TestWhole_GreatSizes: indices close to the 32-bit limit are computed in 64 bits.
func TestWhole_GreatSizes(t *testing.T) {
	n, outer, inner := tir.NewVar("n", tir.Int32), tir.NewVar("outer", tir.Int32), tir.NewVar("inner", tir.Int32)
	a, out := tir.NewBuffer("A", tir.Int8, n), tir.NewBuffer("out", tir.Int64, tir.I32(2))
	index := tir.Add(tir.Mul(outer, tir.I32(4)), inner)
	body := loop(tir.Serial, outer, tir.FloorDiv(tir.Add(n, tir.I32(3)), tir.I32(4)), loop(tir.Serial, inner, tir.I32(4),
		&tir.If{Cond: tir.LT(index, n), Then: tir.Sequence(
			store(out, tir.Add(at(out, tir.I32(0)), tir.NewCast(tir.Int64, at(a, index))), tir.I32(0)),
			store(out, tir.NewCast(tir.Int64, index), tir.I32(1)))}))
	m := module(t, tensors("total", body, a, out))
	for i, l := range undefinedFree(t, m) {
		if i != 1 {
			continue // once is enough: it takes long with a sanitizer
		}
		const size = math.MaxInt32
		result := modules.Tensor(t, []int64{0, 0})
		x := modules.Empty(t, tir.Int8, size) // zeros, which take no physical memory
		must.Get(modules.Call(t, l, "total", x, result))(t)
		require.Equal(t, []int64{0, size - 1}, modules.Slice[int64](t, result))
	}
}

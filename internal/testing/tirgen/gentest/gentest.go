// Package gentest compares generated code with the interpreter, for the random programs of package tirgen.
package gentest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirgen"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// Program is a module with random functions f0, f1, ….
type Program struct {
	Module *tir.IRModule
	funcs  []*tir.PrimFunc
	seed   uint64
}

// New makes a program of n functions with consecutive seeds, from the given one on. A test seed other than 1 changes
// them.
func New(t testing.TB, functions int, seed uint64) *Program {
	t.Helper()
	seed += (testseed.Of(t) - 1) * uint64(functions)
	p := &Program{seed: seed}
	for k := range uint64(functions) {
		p.funcs = append(p.funcs, tirgen.Function(fmt.Sprintf("f%d", k), seed+k))
	}
	var err error
	p.Module, err = tir.NewModule(p.funcs...)
	require.NoError(t, err)
	return p
}

// Compare calls every function of a module that was built from the program, and expects the interpreter's results and
// assertion errors. who is the name of the module in messages.
func (p *Program) Compare(t testing.TB, built *runtime.Module, who string) {
	t.Helper()
	reference := must.Get(tirrun.Compile(p.Module, tirrun.Options{}))(t)
	for k, f := range p.funcs {
		what := fmt.Sprintf("%s, seed %d", who, p.seed+uint64(k))
		want := must.Get(tirgen.Arguments(f, p.seed+uint64(k)))(t)
		got := tensors(t, want)
		_, wantErr := reference.Call(f.Name, want...)
		compiled := must.Get(built.Function(f.Name))(t)
		_, err := compiled.Call(got...)
		require.NoError(t, compiled.Close())
		if wantErr != nil {
			require.ErrorContains(t, err, "an assertion", what)
			continue
		}
		require.NoError(t, err, what)
		for i := range want {
			same(t, want[i].(*tirrun.Array), got[i].(*runtime.Tensor), fmt.Sprintf("%s, b%d:\n%s", what, i, text.Print(f)))
		}
	}
}

// tensors copies arrays to tensors.
func tensors(t testing.TB, arrays []any) (all []any) {
	t.Helper()
	for _, a := range arrays {
		x := must.Open(runtime.NewTensor(a.(*tirrun.Array).DType, a.(*tirrun.Array).Shape, runtime.CPU))(t)
		require.NoError(t, x.CopyFromBytes(a.(*tirrun.Array).Data))
		all = append(all, x)
	}
	return all
}

// same compares elements; all NaNs are equal.
func same(t testing.TB, want *tirrun.Array, got *runtime.Tensor, what string) {
	t.Helper()
	b := make([]byte, len(want.Data))
	require.NoError(t, got.CopyToBytes(b))
	if string(b) == string(want.Data) {
		return
	}
	x := must.Get(tirrun.Values[float64](want))(t)
	y := must.Get(tirrun.Values[float64](&tirrun.Array{DType: want.DType, Shape: want.Shape, Data: b}))(t)
	for i := range x {
		if !math.IsNaN(x[i]) || !math.IsNaN(y[i]) {
			require.Equal(t, x[i], y[i], "element %d, %s", i, what)
		}
	}
}

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
)

// A grid has at most 65535 blocks in its dimensions y and z: products of open sizes count more of them in x.
func TestOpenSizes_BeyondGrid(t *testing.T) {
	to := deviceTargets(t, dlpack.CUDA)[0]
	config := must.Get(DefaultConfig(to))(t)
	m := &config.Matmul
	m.BlockM, m.BlockN, m.ThreadM, m.ThreadN, m.MinBlock, m.Blocks = 2, 2, 1, 1, 2, 1
	n, k, two := te.Var("n"), te.Var("k"), tir.I32(2)
	matrix := func(name string, sizes ...tir.Expr) *te.Tensor { return te.Placeholder(sizes, tir.Float32, name) }
	for _, c := range []struct {
		ins    [2]*te.Tensor
		shapes [3][]int
	}{
		{[2]*te.Tensor{matrix("X", n, k), matrix("Y", k, two)}, [3][]int{{131073, 3}, {3, 2}, {131073, 2}}},
		{[2]*te.Tensor{matrix("X", n, two, k), matrix("Y", n, k, two)},
			[3][]int{{65537, 2, 1}, {65537, 1, 2}, {65537, 2, 2}}},
	} {
		out := Matmul(c.ins[0], c.ins[1], "Z")
		s := must.Get(ScheduleWith(to, config, out))(t)
		lib := must.Open(codegen.Build(must.Get(te.Lower(s, []any{c.ins[0], c.ins[1], out}, "f"))(t), to))(t)
		f := must.Open(lib.Function("f"))(t)
		x, y := sample(tir.Float32, c.shapes[0]...), sample(tir.Float32, c.shapes[1]...)
		want := each(tir.Float32, c.shapes[2], func(i []int) (sum float64) {
			d := len(i) - 2
			for k := range x.shape[d+1] {
				p, q := []int{i[d], k}, []int{k, i[d+1]}
				if d > 0 {
					p, q = append([]int{i[0]}, p...), append([]int{i[0]}, q...)
				}
				sum += x.at(p...) * y.at(q...)
			}
			return sum
		})
		var args []any
		for _, a := range []*nd{x, y, want} {
			array := memory(t, a, false)
			d := must.Open(runtime.NewTensor(dlpack.DataType(array.DType), array.Shape, cudarun.Device))(t)
			if a != want {
				require.NoError(t, d.CopyFromBytes(array.Data))
			}
			args = append(args, d)
		}
		must.Get(f.Call(args...))(t)
		got := memory(t, &nd{tir.Float32, want.shape, make([]float64, len(want.v))}, false)
		require.NoError(t, args[2].(*runtime.Tensor).CopyToBytes(got.Data))
		(&opCase{name: "beyond the grid", want: want}).check(t, "on CUDA", got)
	}
}

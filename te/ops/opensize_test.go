//go:build cgo

package ops

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// openCase is a function of tensors with variable sizes, and calls of it.
type openCase struct {
	sizes []string // of each input: a name per dimension, separated by spaces; _ is a constant
	calls []opCase // make and the constants are those of the first one
}

// lowered returns the function with its schedule for a target; nil if the operator needs more constant sizes.
func (o *openCase) lowered(t *testing.T, to *target.Target, config *Config, name string) *tir.PrimFunc {
	t.Helper()
	c := &o.calls[0]
	vars := map[string]tir.Expr{}
	var args []any
	var ins []*te.Tensor
	for n, a := range c.ins {
		shape := dims(a.shape)
		if n < len(o.sizes) {
			for d, size := range strings.Fields(o.sizes[n]) {
				if size == "_" {
					continue
				}
				if vars[size] == nil {
					vars[size] = te.Var(size)
				}
				shape[d] = vars[size]
			}
		}
		x := te.Placeholder(shape, a.t, fmt.Sprintf("x%d", n))
		ins, args = append(ins, x), append(args, x)
	}
	out := c.make(ins)
	if out.Err() != nil {
		return nil
	}
	s, err := Schedule(to, out)
	if config != nil {
		s, err = ScheduleWith(to, config, out)
	}
	require.NoError(t, err, c.name)
	m, err := te.Lower(s, append(args, out), name)
	require.NoError(t, err, c.name)
	return m.Funcs[0]
}

// runOpen builds functions in one module for a target, and makes their calls on the first device of its kind. A config
// of nil is the default.
func runOpen(t *testing.T, to *target.Target, config *Config, cases []openCase) {
	t.Helper()
	dev := dlpack.Device{Type: to.DeviceType()}
	var funcs []*tir.PrimFunc
	for n := range cases {
		f := cases[n].lowered(t, to, config, fmt.Sprintf("f%d", n))
		require.NotNil(t, f, cases[n].calls[0].name)
		funcs = append(funcs, f)
	}
	lib := must.Open(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
	if dev.Type == dlpack.Vulkan {
		for _, m := range must.Get(lib.Imports())(t) {
			spirvtest.ValidateModule(t, m)
			require.NoError(t, m.Close())
		}
	}
	for n, o := range cases {
		f := must.Get(lib.Function(funcs[n].Name))(t)
		for _, c := range o.calls {
			zero := &nd{c.want.t, c.want.shape, make([]float64, len(c.want.v))}
			var args []any
			for _, a := range append(slices.Clone(c.ins), zero) {
				array := memory(t, a, false)
				x := must.Get(runtime.NewTensor(dlpack.DataType(array.DType), array.Shape, dev))(t)
				if len(array.Data) > 0 {
					require.NoError(t, x.CopyFromBytes(array.Data))
				}
				args = append(args, x)
			}
			_, err := f.Call(args...)
			require.NoError(t, err, c.name)
			out := memory(t, zero, false)
			if len(out.Data) > 0 {
				require.NoError(t, args[len(args)-1].(*runtime.Tensor).CopyToBytes(out.Data), c.name)
			}
			c.check(t, "on "+to.String(), out)
			for _, x := range args {
				require.NoError(t, x.(*runtime.Tensor).Close())
			}
		}
		f.Close()
	}
}

// opened returns a function whose sizes are variable, except those of 0 and 1, which may be broadcast. Equal sizes have
// one name. The first dimensions are variable, or all.
func (c *opCase) opened(all bool) openCase {
	o := openCase{calls: []opCase{*c}}
	for _, a := range c.ins {
		names := make([]string, len(a.shape))
		for d, n := range a.shape {
			if names[d] = "_"; n > 1 && (all || d == 0) {
				names[d] = fmt.Sprintf("n%d", n)
			}
		}
		o.sizes = append(o.sizes, strings.Join(names, " "))
	}
	o.calls[0].name += fmt.Sprint(o.sizes)
	return o
}

// openOperators are some cases of operators with variable sizes: all of them, or those that the operator allows.
func openOperators(t *testing.T, to *target.Target) (open []openCase) {
	names := operatorsOn(to.DeviceType())
	if to.DeviceType() == dlpack.CUDA {
		names = slices.Sorted(maps.Keys(values)) // they run
	}
	for _, name := range names {
		if name == "attention" && to.DeviceType() != dlpack.CUDA && os.Getenv(everyCase) == "" {
			continue // with all sizes unknown, its kernels take some seconds to build for Vulkan
		}
		for _, c := range sampled(t, values[name](), 1) {
			for _, all := range []bool{true, false} {
				if o := c.opened(all); o.lowered(t, to, nil, "f") != nil {
					open = append(open, o)
					break
				}
			}
		}
	}
	return open
}

// Each operator has kernels for variable sizes: CUDA computes with them, and all devices if all cases run. Otherwise
// the kernels for other devices are built: for a GPU, or for a device that is a CPU.
func TestOpenSizes_Operators(t *testing.T) {
	for _, kind := range deviceKinds {
		t.Run(kind.String(), func(t *testing.T) {
			if kind == dlpack.CUDA || os.Getenv(everyCase) != "" {
				for _, to := range deviceTargets(t, kind) {
					for part := range slices.Chunk(openOperators(t, to), 40) {
						runOpen(t, to, nil, part)
					}
				}
				return
			}
			for _, options := range sampled(t, []string{"", `"device_type": "cpu",`}, 1) {
				if kind == dlpack.Vulkan {
					options += `"supports_int8": true, "supports_int16": true, "supports_int64": true,
						"supports_float64": true, "supports_float16": true, "supports_8bit_buffer": true, "supports_16bit_buffer": true,`
				}
				to := must.Get(target.New(fmt.Sprintf(`{"kind": %q, %s "host": "c"}`, kind, options)))(t)
				var funcs []*tir.PrimFunc
				for n, o := range openOperators(t, to) {
					funcs = append(funcs, o.lowered(t, to, nil, fmt.Sprintf("f%d", n)))
				}
				must.Open(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
			}
		})
	}
}

// openProduct is a product of matrices of variable sizes: of [batch, m, k] by [batch, k, n], or transposed. Each call
// has its batch, m, n and k; a batch of -1: none.
type openProduct struct {
	x, y, result tir.Type
	turnX, turnY bool
	calls        [][4]int
}

func (p openProduct) open() openCase {
	var o openCase
	for _, s := range p.calls {
		shape := func(rows, cols int, turned bool) []int {
			if turned {
				rows, cols = cols, rows
			}
			if s[0] < 0 {
				return []int{rows, cols}
			}
			return []int{s[0], rows, cols}
		}
		x, y := sample(p.x, shape(s[1], s[3], p.turnX)...), sample(p.y, shape(s[3], s[2], p.turnY)...)
		at := func(a *nd, i []int, row, col int, turned bool) float64 {
			if turned {
				row, col = col, row
			}
			return a.at(append(slices.Clone(i[:len(i)-2]), row, col)...)
		}
		c := opCase{name: fmt.Sprintf("%+v %v", p, s), ins: []*nd{x, y}, make: func(in []*te.Tensor) *te.Tensor {
			options := []MatmulOption{AccumulateIn(p.result)}
			if p.turnX {
				options = append(options, TransposeX())
			}
			if p.turnY {
				options = append(options, TransposeY())
			}
			return Relu(Matmul(in[0], in[1], "Z", options...), "R")
		}}
		c.want = each(p.result, shape(s[1], s[2], false), func(i []int) (sum float64) {
			row, col := i[len(i)-2], i[len(i)-1]
			for k := range s[3] {
				sum += at(x, i, row, k, p.turnX) * at(y, i, k, col, p.turnY)
			}
			return max(sum, 0)
		})
		o.calls = append(o.calls, c)
	}
	sizes := func(rows, cols string, turned bool) string {
		if turned {
			rows, cols = cols, rows
		}
		if p.calls[0][0] < 0 {
			return rows + " " + cols
		}
		return "b " + rows + " " + cols
	}
	o.sizes = []string{sizes("m", "k", p.turnX), sizes("k", "n", p.turnY)}
	return o
}

// openProducts are products of matrices of all sizes: none, one, less than a tile, odd, and several tiles.
func openProducts() (cases []openCase) {
	plain := [][4]int{{-1, 0, 3, 4}, {-1, 3, 4, 0}, {-1, 1, 1, 1}, {-1, 1, 40, 9}, {-1, 3, 5, 7}, {-1, 37, 33, 65},
		{-1, 130, 70, 19}, {-1, 64, 128, 32}}
	batches := [][4]int{{0, 3, 3, 4}, {2, 3, 4, 0}, {1, 1, 1, 1}, {3, 17, 5, 33}, {2, 70, 66, 16}}
	for _, types := range [][2]tir.Type{{tir.Float32, tir.Float32}, {tir.Float16, tir.Float32}, {tir.Int8, tir.Int32},
		{tir.Float64, tir.Float64}} {
		for n, calls := range [][][4]int{plain, plain, batches, batches, plain} {
			p := openProduct{x: types[0], y: types[0], result: types[1], turnX: n > 2, turnY: n%2 == 1, calls: calls}
			cases = append(cases, p.open())
		}
	}
	x, y := sample(tir.BFloat16, 3, 2, 7, 4), sample(tir.BFloat16, 4, 7)
	want := each(tir.Float32, []int{3, 2, 7, 7}, func(i []int) (sum float64) {
		for k := range 4 {
			sum += x.at(i[0], i[1], i[2], k) * y.at(k, i[3])
		}
		return sum
	})
	softmax := opCase{name: "softmax of a product", ins: []*nd{x, y}, want: perRow(want, 3, softmaxOf(false)), tol: 1e-5,
		make: func(in []*te.Tensor) *te.Tensor {
			return Softmax(Matmul(in[0], in[1], "Z", AccumulateIn(tir.Float32)), "S")
		}}
	return append(cases, openCase{sizes: []string{"_ _ n _", "_ n"}, calls: []opCase{softmax}})
}

// Products of variable sizes are built once, and called with matrices of several sizes. Blocks are small, so that
// kernels compile fast, and matrices have many, unless all cases run. TestTensorCores_AnySize tests fragments.
func TestOpenSizes_Products(t *testing.T) {
	for kind, part := range map[dlpack.DeviceType]int{dlpack.OpenCL: 2, dlpack.Vulkan: 1, dlpack.CUDA: 6} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, to := range deviceTargets(t, kind) {
				config := must.Get(DefaultConfig(to))(t)
				if m := &config.Matmul; m.Shared && os.Getenv(everyCase) == "" {
					m.BlockM, m.BlockN, m.ThreadM, m.ThreadN, m.BlockK, m.MinBlock = 16, 16, 2, 2, 4, 4
					config.TensorCore.On = false
				}
				runOpen(t, to, config, sampled(t, openProducts(), part))
			}
		})
	}
}

// A grid has at most 65535 blocks in its dimensions y and z: products of open sizes count more of them in x.
func TestOpenSizes_BeyondGrid(t *testing.T) {
	to := deviceTargets(t, dlpack.CUDA)[0]
	config := must.Get(DefaultConfig(to))(t)
	m := &config.Matmul
	m.BlockM, m.BlockN, m.ThreadM, m.ThreadN, m.MinBlock, m.Blocks = 2, 2, 1, 1, 2, 1
	rows := openProduct{x: tir.Float32, y: tir.Float32, result: tir.Float32, calls: [][4]int{{-1, 131073, 2, 3}}}.open()
	rows.sizes = []string{"m k", "k _"}
	batches := openProduct{x: tir.Float32, y: tir.Float32, result: tir.Float32, calls: [][4]int{{65537, 2, 2, 1}}}.open()
	batches.sizes = []string{"b _ k", "b k _"}
	runOpen(t, to, config, []openCase{rows, batches})
}

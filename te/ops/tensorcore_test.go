//go:build cgo

package ops

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// fragmentProducts are products of matrices for tensor cores: of all types, transposed, batched, with epilogue, and of
// sizes that no tile divides.
func fragmentProducts() (cases []opCase) {
	type product struct {
		batch         []int // of the left operand; the right one has one of them
		rows, k, cols int
		tx, ty        bool
		dense         bool // with a bias and Relu
	}
	add := func(operand, acc tir.Type, p product) {
		shape := func(batch []int, rows, cols int, turned bool) []int {
			if turned {
				rows, cols = cols, rows
			}
			return append(append([]int{}, batch...), rows, cols)
		}
		one := make([]int, len(p.batch))
		for i := range one {
			one[i] = 1
		}
		x := sample(operand, shape(p.batch, p.rows, p.k, p.tx)...)
		y := sample(operand, shape(one, p.k, p.cols, p.ty)...)
		result := acc
		if acc == tir.Void {
			result = operand
		}
		bias := sample(result, p.cols)
		at := func(a *nd, b []int, row, col int, turned bool) float64 {
			if turned {
				row, col = col, row
			}
			i := append(append([]int{}, b...), row, col)
			for d := range b {
				i[d] %= a.shape[d]
			}
			return a.at(i...)
		}
		want := each(result, append(append([]int{}, p.batch...), p.rows, p.cols), func(i []int) float64 {
			n, sum := len(i), 0.0
			for k := range p.k {
				sum += at(x, i[:n-2], i[n-2], k, p.tx) * at(y, i[:n-2], k, i[n-1], p.ty)
			}
			if sum = rounded16(result, sum); p.dense {
				sum = max(0, rounded16(result, sum+bias.v[i[n-1]]))
			}
			return sum
		})
		c := opCase{name: fmt.Sprintf("%s in %s %+v", operand, acc, p), ins: []*nd{x, y}, want: want}
		if p.dense {
			c.ins = append(c.ins, bias)
		}
		c.make = func(in []*te.Tensor) *te.Tensor {
			var options []MatmulOption
			if p.tx {
				options = append(options, TransposeX())
			}
			if p.ty {
				options = append(options, TransposeY())
			}
			if acc != tir.Void {
				options = append(options, AccumulateIn(acc))
			}
			out := Matmul(in[0], in[1], "Z", options...)
			if p.dense {
				out = Relu(Add(out, in[2], "A"), "R")
			}
			return out
		}
		cases = append(cases, c)
	}
	for _, t := range [][2]tir.Type{{tir.Float16, tir.Void}, {tir.Float16, tir.Float32}, {tir.BFloat16, tir.Float32},
		{tir.Int8, tir.Int32}, {tir.UInt8, tir.Int32}, {tir.Float32, tir.Void}} {
		add(t[0], t[1], product{rows: 64, k: 64, cols: 96})
		add(t[0], t[1], product{rows: 17, k: 33, cols: 19, ty: true})
		add(t[0], t[1], product{rows: 34, k: 50, cols: 52}) // rows of 4 or 8 bytes, not of 16
		add(t[0], t[1], product{rows: 70, k: 40, cols: 130, tx: true, dense: true})
		add(t[0], t[1], product{batch: []int{2}, rows: 33, k: 104, cols: 40, tx: true, ty: true})
	}
	return cases
}

// Products of matrices on tensor cores have the values of the reference: with the default blocks, with others, and with
// sums that several blocks compute. These share the cases, unless everyCase is set.
func TestTensorCores(t *testing.T) {
	to := deviceTargets(t, dlpack.CUDA)[0]
	all := fragmentProducts()
	for i, change := range []func(c *Config){
		func(c *Config) {},
		func(c *Config) {
			c.TensorCore.BlockM, c.TensorCore.BlockN, c.TensorCore.WarpM, c.TensorCore.WarpN = 64, 32, 16, 32
			c.TensorCore.Blocks, c.TensorCore.Stages, c.TensorCore.BlockBytes = 1, 1+len(all)%2, 32
		},
		func(c *Config) { c.TensorCore.Part, c.TensorCore.Blocks = 16, 1000 }, // sums are divided
	} {
		config := must.Get(DefaultConfig(to))(t)
		config.TensorCore.TF32 = true
		change(config)
		require.NoError(t, config.Check(to), i)
		var cases []opCase
		for n, c := range all {
			if n%3 == i || os.Getenv(everyCase) != "" {
				cases = append(cases, c)
			}
		}
		runScheduled(t, cases, to, func(int, *te.Tensor) *Config { return config })
	}
}

// kernelsFor returns the CUDA C of a product for an architecture.
func kernelsFor(t *testing.T, arch string, x, y *te.Tensor, config func(*Config), options ...MatmulOption) string {
	t.Helper()
	to := must.Get(target.New(`{"kind": "cuda", "arch": "` + arch + `", "host": "c"}`))(t)
	c := must.Get(DefaultConfig(to))(t)
	config(c)
	out := Matmul(x, y, "Z", options...)
	s := must.Get(ScheduleWith(to, c, out))(t)
	m := must.Get(te.Lower(s, []any{x, y, out}, "f"))(t)
	lib := must.Get(codegen.Build(m, to))(t)
	defer lib.Close()
	imports := must.Get(lib.Imports())(t)
	defer imports[0].Close()
	return must.Get(imports[0].GetSource("cuda"))(t)
}

// Tensor cores are used where the architecture has them for the type. TensorFloat-32 is used on request alone.
func TestTensorCores_Chosen(t *testing.T) {
	matrix := func(dt tir.Type, n int32) *te.Tensor { return te.Placeholder(te.Dims(n, n), dt, "X") }
	none, tf32 := func(*Config) {}, func(c *Config) { c.TensorCore.TF32 = true }
	for _, c := range []struct {
		arch   string
		dt     tir.Type
		n      int32
		config func(*Config)
		acc    tir.Type
		uses   string
	}{
		{"sm_60", tir.Float16, 64, none, tir.Float32, ""},
		{"sm_75", tir.Float16, 64, none, tir.Float32, "tvmgo_mma_f16_f32"},
		{"sm_75", tir.BFloat16, 64, none, tir.Float32, ""},
		{"sm_75", tir.Int8, 64, none, tir.Int32, "tvmgo_mma_s8_k32"},
		{"sm_75", tir.UInt8, 64, none, tir.Int32, "tvmgo_mma_u8_k32"},
		{"sm_70", tir.Int8, 64, none, tir.Int32, ""},
		{"sm_80", tir.BFloat16, 64, none, tir.Float32, "tvmgo_mma_bf16_f32"},
		{"sm_90", tir.Int8, 64, none, tir.Int32, "tvmgo_mma_s8_k32"},
		{"sm_90", tir.UInt8, 64, none, tir.Int32, "tvmgo_mma_u8_k32"},
		{"sm_90", tir.Float16, 8, none, tir.Float32, ""},
		{"sm_90", tir.Float32, 64, none, tir.Float32, ""},
		{"sm_90", tir.Float32, 64, tf32, tir.Float32, "tvmgo_mma_tf32_f32"},
		{"sm_90", tir.Float16, 64, func(c *Config) { c.TensorCore.On = false }, tir.Float32, ""},
	} {
		code := kernelsFor(t, c.arch, matrix(c.dt, c.n), matrix(c.dt, c.n), c.config, AccumulateIn(c.acc))
		if c.uses == "" {
			require.NotContains(t, code, "tvmgo_mma", c)
		} else {
			require.Contains(t, code, c.uses, c)
		}
		require.Equal(t, c.uses != "", strings.Contains(code, "tvmgo_fragment_fill"), c)
	}
}

// Tensor cores of sm_75 have smaller products, and no asynchronous copies. Their results are those of the reference.
func TestTensorCores_Turing(t *testing.T) {
	cudarun.Use(t)
	to := must.Get(target.New(`{"kind": "cuda", "arch": "sm_75", "host": "c"}`))(t)
	for _, p := range []struct {
		operand, sum tir.Type
		mma          string
	}{{tir.Float16, tir.Float32, "m16n8k8"}, {tir.Int8, tir.Int32, "m8n8k16"}, {tir.UInt8, tir.Int32, "m8n8k16"}} {
		for _, size := range [][3]int{{64, 160, 32}, {37, 105, 29}} {
			rows, depth, cols := size[0], size[1], size[2]
			a, b := sample(p.operand, rows, depth), sample(p.operand, cols, depth)
			x := te.Placeholder(te.Dims(int32(rows), int32(depth)), p.operand, "X")
			y := te.Placeholder(te.Dims(int32(cols), int32(depth)), p.operand, "Y")
			out := Matmul(x, y, "Z", AccumulateIn(p.sum), TransposeY())
			s := must.Get(Schedule(to, out))(t)
			m := must.Get(te.Lower(s, []any{x, y, out}, "f"))(t)
			kernel := must.Get(codegen.Explain(m, to))(t).Kernels[0]
			var grid cudarun.Grid
			for d := range 3 {
				grid.Blocks[d], grid.Threads[d] = int(kernel.Grid[d]), int(kernel.Block[d])
			}
			grid.Shared = int(kernel.SharedBytes)
			code := kernelsFor(t, "sm_75", x, y, func(*Config) {}, AccumulateIn(p.sum), TransposeY())
			require.Contains(t, code, p.mma)
			c := opCase{name: fmt.Sprint(p.operand, size), want: each(p.sum, []int{rows, cols}, func(i []int) (r float64) {
				for k := range depth {
					r += a.at(i[0], k) * b.at(i[1], k)
				}
				return r
			})}
			got := memory(t, &nd{p.sum, c.want.shape, make([]float64, len(c.want.v))}, false)
			library := must.Get(cudarun.Compile(code, cudarun.Options{Arch: 75}))(t)
			require.NoError(t, library.Launch("f_kernel", grid, memory(t, a, false).Data, memory(t, b, false).Data, got.Data))
			c.check(t, "on sm_75", got)
		}
	}
}

// A product of variable sizes has one kernel, which is right for sizes from 0 on.
func TestTensorCores_AnySize(t *testing.T) {
	to := deviceTargets(t, dlpack.CUDA)[0]
	n, k := te.Var("n"), te.Var("k")
	x, y := te.Placeholder([]tir.Expr{n, k}, tir.Float16, "X"), te.Placeholder([]tir.Expr{k, n}, tir.Float16, "Y")
	out := Relu(Matmul(x, y, "Z", AccumulateIn(tir.Float32)), "R")
	s := must.Get(Schedule(to, out))(t)
	lib := must.Open(codegen.Build(must.Get(te.Lower(s, []any{x, y, out}, "f"))(t), to))(t)
	f := must.Open(lib.Function("f"))(t)
	for _, size := range [][2]int{{0, 4}, {1, 1}, {4, 0}, {37, 33}, {130, 70}} {
		a, b := sample(tir.Float16, size[0], size[1]), sample(tir.Float16, size[1], size[0])
		c := &opCase{name: fmt.Sprint(size), want: each(tir.Float32, []int{size[0], size[0]}, func(i []int) (r float64) {
			for l := range size[1] {
				r += a.at(i[0], l) * b.at(l, i[1])
			}
			return max(r, 0)
		})}
		var args []any
		for _, v := range []*nd{a, b, {tir.Float32, c.want.shape, make([]float64, len(c.want.v))}} {
			array := memory(t, v, false)
			d := must.Open(runtime.NewTensor(dlpack.DataType(array.DType), array.Shape, cudarun.Device))(t)
			if len(array.Data) > 0 {
				require.NoError(t, d.CopyFromBytes(array.Data))
			}
			args = append(args, d)
		}
		must.Get(f.Call(args...))(t)
		got := memory(t, &nd{tir.Float32, c.want.shape, make([]float64, len(c.want.v))}, false)
		if len(got.Data) > 0 {
			require.NoError(t, args[2].(*runtime.Tensor).CopyToBytes(got.Data))
		}
		c.check(t, "on CUDA", got)
	}
}

// Convolutions are products of matrices, too.
func TestTensorCores_Convolutions(t *testing.T) {
	to := deviceTargets(t, dlpack.CUDA)[0]
	one, pad := [2]int{1, 1}, [4]int{1, 1, 1, 1}
	var cases []opCase
	for i, c := range []conv{
		{"plain", []int{2, 16, 9, 7}, 24, 3, 3, one, one, pad, 1, false, true},
		{"strides", []int{1, 8, 19, 14}, 33, 3, 2, [2]int{2, 1}, one, [4]int{0, 1, 2, 1}, 1, false, false},
		{"groups", []int{1, 32, 8, 9}, 40, 3, 3, one, one, pad, 2, false, false},
		{"nhwc", []int{2, 16, 7, 9}, 32, 3, 3, one, [2]int{2, 1}, pad, 1, true, true},
		{"pointwise", []int{2, 40, 6, 8}, 48, 1, 1, one, one, [4]int{}, 1, false, false},
		{"wide", []int{1, 16, 5, 61}, 32, 3, 3, one, one, pad, 1, false, false},
		{"wide with strides", []int{2, 16, 6, 71}, 32, 3, 3, [2]int{1, 2}, one, pad, 1, false, true},
		{"nhwc in vectors", []int{1, 32, 7, 18}, 32, 3, 3, one, one, pad, 1, true, false},
		{"nhwc groups", []int{1, 48, 7, 18}, 64, 3, 2, one, one, pad, 2, true, false},
		{"wide pointwise", []int{2, 32, 4, 16}, 32, 1, 1, one, one, [4]int{}, 1, false, false},
	} {
		cases = append(cases, c.of(tir.Float16, tir.Float16, tir.Float32, tir.Float32))
		if i%2 == 0 {
			cases = append(cases, c.of(tir.Int8, tir.Int8, tir.Int32, tir.Int32))
		} else {
			cases = append(cases, c.of(tir.BFloat16, tir.BFloat16, tir.Void, tir.BFloat16))
		}
	}
	config := must.Get(DefaultConfig(to))(t)
	config.TensorCore.Part, config.TensorCore.Blocks = 32, 1000 // for every second case: sums are divided
	runScheduled(t, cases, to, func(n int, _ *te.Tensor) *Config { return []*Config{nil, config}[(n+n/2)%2] })
}

// The kernels of large products access shared memory without bank conflicts, and global memory in whole sectors. They
// do not spill registers. Two blocks fit into a multiprocessor, also with more shared memory than targets report.
func TestTensorCores_Figures(t *testing.T) {
	tf32 := func(c *Config) { c.TensorCore.TF32 = true }
	nvrtctest.Need(t)
	for _, arch := range []string{"sm_80", "sm_90", "sm_90 -max_shared_memory_per_block=49152"} {
		to := must.Get(target.New("cuda -code-format=cubin -arch=" + arch))(t)
		for _, p := range []struct {
			operand, sum tir.Type
			options      []MatmulOption
		}{
			{tir.Float16, tir.Float32, nil}, {tir.Float16, tir.Float32, []MatmulOption{TransposeX()}},
			{tir.BFloat16, tir.Float32, []MatmulOption{TransposeY()}},
			{tir.Float16, tir.Float32, []MatmulOption{TransposeX(), TransposeY()}},
			{tir.Int8, tir.Int32, []MatmulOption{TransposeY()}}, {tir.Float32, tir.Float32, nil},
			{tir.Float32, tir.Float32, []MatmulOption{TransposeY()}},
		} {
			x, y := te.Placeholder(te.Dims(2048, 2048), p.operand, "X"), te.Placeholder(te.Dims(2048, 2048), p.operand, "Y")
			out := Matmul(x, y, "Z", append(p.options, AccumulateIn(p.sum))...)
			c := must.Get(DefaultConfig(to))(t)
			tf32(c)
			s := must.Get(ScheduleWith(to, c, out))(t)
			report := must.Get(codegen.Explain(must.Get(te.Lower(s, []any{x, y, out}, "f"))(t), to))(t)
			require.Len(t, report.Kernels, 1)
			k := report.Kernels[0]
			what := fmt.Sprint(arch, " ", p.operand, " ", len(p.options))
			require.NotEmpty(t, k.Work.ByType["tensor:"+p.operand.String()], what)
			for _, a := range k.Accesses {
				if a.Ways != nil {
					require.Equal(t, 1.0, a.Ways.Worst, "%s: %s", what, a.Index)
				}
				if a.Sectors != nil {
					require.Equal(t, a.Sectors.Minimal, a.Sectors.Average, "%s: %s", what, a.Index)
				}
			}
			require.Zero(t, k.Resources.SpillStores+k.Resources.SpillLoads, what)
			require.Equal(t, !strings.Contains(arch, "-max"), k.SharedBytes > 48<<10, what)
			require.GreaterOrEqual(t, k.Occupancy.Blocks, int64(2), what)
		}
	}
}

// Mistakes in the code of a product by tensor cores give wrong results or errors when the code is executed.
func TestTensorCores_Mutations(t *testing.T) {
	to := deviceTargets(t, dlpack.CUDA)[0]
	const n, k = 64, 160
	x, y := te.Placeholder(te.Dims(n, k), tir.Float16, "X"), te.Placeholder(te.Dims(k, n), tir.Float16, "Y")
	out := Matmul(x, y, "Z", AccumulateIn(tir.Float32))
	s := must.Get(Schedule(to, out))(t)
	program := must.Get(te.Lower(s, []any{x, y, out}, "f"))(t)
	kernel := must.Get(codegen.Explain(program, to))(t).Kernels[0]
	var grid cudarun.Grid
	for d := range 3 {
		grid.Blocks[d], grid.Threads[d] = int(kernel.Grid[d]), int(kernel.Block[d])
	}
	grid.Shared = int(kernel.SharedBytes)
	code := kernelsFor(t, "sm_90", x, y, func(*Config) {}, AccumulateIn(tir.Float32))
	a, b := sample(tir.Float16, n, k), sample(tir.Float16, k, n)
	bits := func(v *nd) []uint16 {
		data := memory(t, v, false).Data
		all := make([]uint16, len(data)/2)
		for i := range all {
			all[i] = uint16(data[2*i]) | uint16(data[2*i+1])<<8
		}
		return all
	}
	right := func(code string) (bool, error) {
		got := make([]float32, n*n)
		library := must.Get(cudarun.Compile(code, cudarun.Options{Arch: 90}))(t)
		if err := library.Launch("f_kernel", grid, bits(a), bits(b), got); err != nil {
			return false, err
		}
		for i := range n {
			for j := range n {
				sum := 0.0
				for l := range k {
					sum += a.at(i, l) * b.at(l, j)
				}
				if float64(got[i*n+j]) != sum {
					return false, nil
				}
			}
		}
		return true, nil
	}
	ok, err := right(code)
	require.NoError(t, err)
	require.True(t, ok)
	head, body, _ := strings.Cut(code, `extern "C"`)
	mutated := func(part, old, new string, i int) {
		at := strings.Split(part, old)
		require.Greater(t, len(at), i+1, old)
		text := strings.Join(at[:i+1], old) + new + strings.Join(at[i+1:], old)
		if part == head {
			text += `extern "C"` + body
		} else {
			text = head + `extern "C"` + text
		}
		ok, err := right(text)
		require.False(t, ok && err == nil, "%d: %s becomes %s: no error, and the result is right", i, old, new)
	}
	for i := range strings.Count(body, "__syncthreads();") {
		mutated(body, "__syncthreads();", ";", i)
	}
	mutated(body, "tvmgo_cp_async_wait<2>", "tvmgo_cp_async_wait<3>", 0)
	mutated(body, "tvmgo_cp_async_commit();", ";", 0)
	mutated(body, "(step + 3) % 4", "(step + 2) % 4", 0)
	mutated(body, "<4, true, true>", "<4, true, false>", 0)
	mutated(body, "<4, true, false>", "<4, false, false>", 0)
	mutated(body, "Z_left + 0, Z_right + 0)", "Z_right + 0, Z_left + 0)", 0)
	mutated(head, "T* at = (T*)matrix + lane / 4 * row_step", "T* at = (T*)matrix + lane / 8 * row_step", 0)
	mutated(head, "lane % 4 * 2 * column_step", "lane % 4 * column_step", 0)
	mutated(head, "second = lane / 16", "second = lane / 8", 0)
	mutated(head, `"r"(b[0]), "r"(b[1])`, `"r"(b[1]), "r"(b[0])`, 0)
}

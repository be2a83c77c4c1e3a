package opencl_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/codegen/opencl"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// withSubgroups is a target whose devices exchange values in subgroups of a size by an extension.
func withSubgroups(t testing.TB, extensions string, size int) *target.Target {
	return must.Get(target.New(fmt.Sprintf("opencl -host=c -extensions=%s,cl_khr_fp64 -thread_warp_size=%d "+
		"-max_threads_per_block=256", extensions, size)))(t)
}

// subgroupExtensions are the ways in which a device has shuffles.
var subgroupExtensions = []string{"cl_khr_subgroup_shuffle",
	"cl_khr_subgroup_shuffle,cl_khr_subgroup_shuffle_relative", "cl_intel_subgroups",
	"cl_intel_subgroups,cl_intel_required_subgroup_size"}

// compiled is the code of a program's kernels for a target, compiled for the CPU.
type compiled struct {
	m       *tir.IRModule
	to      *target.Target
	code    string
	kernels map[string]*tir.PrimFunc // by the function that launches it
	library *cudarun.Library
}

// compile emits the kernels of a program, of which each function launches one, and compiles them as they are, or with a
// mutation.
func compile(t testing.TB, m *tir.IRModule, to *target.Target, mutate func(code string) string) *compiled {
	t.Helper()
	c := &compiled{m: m, to: to, kernels: map[string]*tir.PrimFunc{}}
	all := must.Get(transform.ForDevice(opencl.Language).Run(m, to))(t)
	kernels := &tir.IRModule{}
	for _, f := range all.Funcs {
		if transform.IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
			c.kernels[strings.TrimSuffix(f.Name, "_kernel")] = f
		}
	}
	require.Len(t, c.kernels, len(m.Funcs))
	c.code = must.Get(opencl.New().Emit(kernels, to))(t)
	if mutate != nil {
		changed := mutate(c.code)
		require.NotEqual(t, c.code, changed)
		c.code = changed
	}
	library, err := cudarun.Compile(c.code, cudarun.Options{Subgroup: c.warp(t)})
	require.NoError(t, err, c.code)
	c.library = library
	return c
}

func (c *compiled) warp(t testing.TB) int {
	return int(must.Get(target.Get[int64](c.to, "thread_warp_size"))(t))
}

// launch runs the kernel of a function, with the arrays of its parameters. The shape of the launch must be constant.
func (c *compiled) launch(t testing.TB, name string, arrays []*tirrun.Array) error {
	t.Helper()
	f, grid := c.kernels[name], cudarun.Grid{}
	tir.Walk(f.Body, func(node any) bool {
		if s, ok := node.(*tir.For); ok && s.Kind == tir.ThreadBind {
			dims := &grid.Threads
			if strings.HasPrefix(s.Thread, "blockIdx") {
				dims = &grid.Blocks
			}
			d := strings.IndexByte("xyz", s.Thread[len(s.Thread)-1])
			dims[d] = max(dims[d], int(s.Extent.(*tir.IntImm).Value))
		}
		return true
	})
	host := c.function(name)
	var args []any
	for _, p := range f.Params {
		for i, h := range host.Params {
			if host.Buffers[h].Name == f.Buffers[p].Name {
				args = append(args, arrays[i].Data)
			}
		}
	}
	require.Len(t, args, len(f.Params))
	return c.library.Launch(f.Name, grid, args...)
}

func (c *compiled) function(name string) *tir.PrimFunc {
	for _, f := range c.m.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// agrees reports whether the kernel of a function gives the values of the interpreter, in several orders of threads.
// The last array is the result.
func (c *compiled) agrees(t *testing.T, name string, within float64, arrays ...*tirrun.Array) (right bool, err error) {
	t.Helper()
	last := len(arrays) - 1
	out := arrays[last]
	var args []any
	for _, a := range arrays {
		args = append(args, a)
	}
	synced := must.Get(transform.ThreadSync(c.m, c.to))(t)
	must.Get(must.Get(tirrun.Compile(synced, tirrun.Options{Warp: c.warp(t)}))(t).Call(name, args...))(t)
	want := must.Get(tirrun.Values[float64](out))(t)
	right = true
	for _, seed := range []string{"0", "1", "2"} {
		t.Setenv("CUDARUN_SEED", seed)
		given := *out
		given.Data = make([]byte, len(out.Data))
		if err := c.launch(t, name, append(arrays[:last:last], &given)); err != nil {
			return false, err
		}
		for i, got := range must.Get(tirrun.Values[float64](&given))(t) {
			right = right && math.Abs(got-want[i]) <= within*(1e-3+math.Abs(want[i]))
		}
	}
	return right, nil
}

// Values of all types move between the threads of a subgroup by each extension, in subgroups of each size, as in the
// interpreter.
func TestExecute_Shuffles(t *testing.T) {
	types := []tir.Type{tir.Bool, tir.Int8, tir.UInt8, tir.Int16, tir.UInt16, tir.Int32, tir.UInt32, tir.Int64,
		tir.UInt64, tir.Float16, tir.BFloat16, tir.Float32, tir.Float64}
	for n, size := range []int{8, 16, 32, 16} {
		extensions := subgroupExtensions[n]
		source := ""
		for n, typ := range types {
			source += strings.NewReplacer("N", fmt.Sprint(n), "D", typ.String(), "W", fmt.Sprint(size)).Replace(`
func fN(a: handle, b: handle) {
  buffer A: D[64], param a
  buffer B: D[3, 64], param b
  thread y in range(4), thread "threadIdx.y" {
    thread x in range(16), thread "threadIdx.x" {
      B[0, y * 16 + x] = warp_shuffle[D](A[y * 16 + x], floormod(x + 3, W))
      B[1, y * 16 + x] = warp_shuffle_xor[D](A[y * 16 + x], 5)
      let down = warp_shuffle_down[D](A[y * 16 + x], 1)
      if floormod(y * 16 + x, W) < W - 1 { B[2, y * 16 + x] = down }
    }
  }
}
`)
		}
		c := compile(t, gpuprograms.Parsed(t, source), withSubgroups(t, extensions, size), nil)
		for n, typ := range types {
			right, err := c.agrees(t, fmt.Sprint("f", n), 0, gpuprograms.Array(t, gpuprograms.Random(), typ, 64),
				must.Get(tirrun.New(typ, 3, 64))(t))
			require.NoError(t, err, "%s of %s by %d", typ, extensions, size)
			require.True(t, right, "%s of %s by %d\n%s", typ, extensions, size, c.code)
		}
	}
}

// Vectors of each length, their conversions and functions give the values of the interpreter.
func TestExecute_Vectors(t *testing.T) {
	values := []struct {
		typ  tir.Type
		text string
	}{
		{tir.Int8, "select(A[I] < B[I], A[I] + B[I], A[I] - B[I])"}, {tir.UInt16, "max(A[I], B[I])"},
		{tir.Int32, "popcount(A[I]) * B[I]"}, {tir.Int64, "cast(int64, cast(int8, A[I])) * B[I]"},
		{tir.Float32, "exp(A[I]) * sqrt(fabs(B[I]))"}, {tir.Float64, "cast(float64, cast(float32, A[I])) / B[I]"},
		{tir.BFloat16, "A[I] * B[I]"}, {tir.Float16, "min(A[I], B[I])"},
	}
	source := ""
	for _, lanes := range []int{2, 4, 8, 16} {
		for _, v := range values {
			source += strings.NewReplacer("NAME", fmt.Sprint(v.typ, "_", lanes), "D", v.typ.String(), "L", fmt.Sprint(lanes),
				"S", fmt.Sprint(5*lanes), "VALUE", strings.ReplaceAll(v.text, "I", fmt.Sprintf("t * %d + i", lanes))).Replace(`
func NAME(a: handle, b: handle, c: handle) {
  buffer A: D[S], param a
  buffer B: D[S], param b
  buffer C: D[S], param c
  thread t in range(5), thread "threadIdx.x" { vectorized i in range(L) { C[t * L + i] = VALUE } }
}
`)
		}
	}
	c := compile(t, gpuprograms.Parsed(t, source), withSubgroups(t, subgroupExtensions[0], 32), nil)
	require.Contains(t, c.code, "vload16")
	for _, lanes := range []int{2, 4, 8, 16} {
		for _, v := range values {
			r, n, typ := gpuprograms.Random(), int64(5*lanes), v.typ
			right, err := c.agrees(t, fmt.Sprint(typ, "_", lanes), 1e-6, gpuprograms.Array(t, r, typ, n),
				gpuprograms.Array(t, r, typ, n), must.Get(tirrun.New(typ, n))(t))
			require.NoError(t, err, "%s by %d", typ, lanes)
			require.True(t, right, "%s by %d\n%s", typ, lanes, c.code)
		}
	}
}

// lowered returns the function of an operator with its schedule for a target, and arrays for it.
func lowered(t *testing.T, to *target.Target, make func(x *te.Tensor) *te.Tensor, typ tir.Type,
	shape ...int64) (*tir.IRModule, []*tirrun.Array) {
	t.Helper()
	var dims []int32
	for _, n := range shape {
		dims = append(dims, int32(n))
	}
	x := te.Placeholder(te.Dims(dims...), typ, "x")
	z := make(x)
	s := must.Get(ops.Schedule(to, z))(t)
	m := must.Get(te.Lower(s, []any{x, z}, "f"))(t)
	var result []int64
	for _, d := range z.ProducerShape() {
		result = append(result, d.(*tir.IntImm).Value)
	}
	return m, []*tirrun.Array{gpuprograms.Array(t, gpuprograms.Random(), typ, shape...),
		must.Get(tirrun.New(z.ProducerDType(), result...))(t)}
}

var rowOperators = map[string]func(x *te.Tensor) *te.Tensor{
	"sum":     func(x *te.Tensor) *te.Tensor { return ops.Sum(x, "z", []int{1}, false) },
	"max":     func(x *te.Tensor) *te.Tensor { return ops.Max(x, "z", []int{1}, false) },
	"argmax":  func(x *te.Tensor) *te.Tensor { return ops.ArgMax(x, "z", []int{1}, false) },
	"softmax": func(x *te.Tensor) *te.Tensor { return ops.Softmax(x, "z", 1) },
}

// The default schedules of operators over rows use shuffles, and give the values of the interpreter: with a warp for a
// row, and with a block, which combines the results of its subgroups in shared memory.
func TestExecute_Rows(t *testing.T) {
	for name, make := range rowOperators {
		for _, typ := range []tir.Type{tir.Float32, tir.Float16} {
			for columns, size := range map[int64]int{33: 16, 300: 32, 3000: 32} {
				to := withSubgroups(t, subgroupExtensions[columns%4], size)
				m, arrays := lowered(t, to, make, typ, 5, columns)
				c := compile(t, m, to, nil)
				require.Contains(t, c.code, "sub_group_shuffle", name)
				right, err := c.agrees(t, "f", 2e-3, arrays...)
				require.NoError(t, err, "%s of %d %s\n%s", name, columns, typ, c.code)
				require.True(t, right, "%s of %d %s\n%s", name, columns, typ, c.code)
			}
		}
	}
}

// A barrier that is missing, a wrong lane or index, and a shuffle that part of a subgroup skips are found.
func TestExecute_Mutations(t *testing.T) {
	to := withSubgroups(t, subgroupExtensions[0], 32)
	for _, c := range []struct{ old, new, want string }{
		{"barrier(CLK_LOCAL_MEM_FENCE);", "", "shared memory"},
		{"z_sum_other_5 = sub_group_shuffle_xor(", "z_sum_other_5 = sub_group_shuffle_down(", ""},
		{"sum_other = sub_group_shuffle_xor(x_local[0], (uint)(16", "sum_other = sub_group_shuffle_xor(x_local[0], (8", ""},
		{"sum_other_4 = sub_group_shuffle_xor(x_local[0], (uint)(1", "sum_other_4 = sub_group_shuffle_xor(x_local[0], (0",
			""},
		{"sum_other_3 = sub_group_shuffle_xor(x_local[0], (uint)(2", "sum_other_3 = sub_group_shuffle_xor(x_local[0], (32",
			""},
		{"z_sum_parts[i1_outer_inner % 8]", "z_sum_parts[i1_outer_inner % 9]", "index 8 is outside of the array"},
		{"&x[", "&x[1 + ", "allocation of"},
		{" = sub_group_shuffle_xor(", " = get_local_id(0) == 3 ? 0 : sub_group_shuffle_xor(", "lane"},
	} {
		m, arrays := lowered(t, to, rowOperators["softmax"], tir.Float32, 5, 3000)
		mutated := compile(t, m, to, func(code string) string { return strings.Replace(code, c.old, c.new, 1) })
		right, err := mutated.agrees(t, "f", 1e-4, arrays...)
		if err != nil {
			assert.ErrorContains(t, err, c.want, "%+v", c)
		} else {
			assert.False(t, right || c.want != "", "%+v: right: %v", c, right)
		}
	}
}

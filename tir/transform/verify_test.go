package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

func targetFor(t testing.TB, x any) *target.Target {
	t.Helper()
	return must.Get(target.New(x))(t)
}

// Host code that accesses device memory is rejected, with the function, the buffer and the path.
func TestVerifyMemory(t *testing.T) {
	bound := `thread b in range(2), thread "blockIdx.x" {
  thread i in range(32), thread "threadIdx.x" { out[b * 32 + i] = i } }`
	for body, want := range map[string]string{
		bound: "",
		`thread i in range(64), thread "threadIdx.x" { out[i] = i }`: "",
		"for i in range(64) { out[i] = i }": "verify memory: function f: " +
			"buffer out, in memory of opencl, is written by the host, at body.for(i).body: bind a loop",
		bound + "\nif n > 0 {\nout[0] = 1\n}": "buffer out, in memory of " +
			"opencl, is written by the host, at body[1].if.then: bind",
		bound + "\nlet k = out[3] + 1\nintrin ret_none()": "buffer out, in memory of " +
			"opencl, is read by the host, at body[1].let(k).value.a: bind",
		bound + "\nwhile out[0] > 1 { eval n }": "is read by the host, at " +
			"body[1].while.cond.a",
		bound + "\nassert out[0] > 1, ValueError, \"x\"": "is read by the host, at " +
			"body[1].cond.a",
		"parallel i in range(64) { out[i] = i }":                "is written by the host",
		`thread v in range(2), thread "vthread" { out[v] = 1 }`: "is written by the host",
		`thread i in range(out[0]), thread "threadIdx.x" { out[i] = i }`: "buffer out, in memory of opencl, is read by the " +
			"host, at body.for(i): the range of threads is computed before they start",
		"packed g(address_of[handle](out[3]))": "",
		"alloc a: int32[4]\nfor i in range(4) { a[i] = 1 }": "buffer a, in memory of opencl, " +
			"is written by the host, at body.alloc(a).body.for(i).body",
		"attr \"thread_extent\" = 4\nout[0] = 1":                                         "",
		"alloc a: int32[64]\nthread i in range(64), thread \"threadIdx.x\" { a[i] = i }": "",
	} {
		f := parsed(t, body)
		m := &tir.IRModule{Funcs: []*tir.PrimFunc{f}}
		got, err := transform.VerifyMemory(m, targetFor(t, "opencl"))
		if want == "" {
			require.NoError(t, err, body)
			require.True(t, got == m, "it changes nothing")
		} else {
			require.ErrorContains(t, err, want, body)
			require.Nil(t, got)
		}
		for _, cpu := range []string{"c", "llvm", "ext_dev"} {
			must.Get(transform.VerifyMemory(m, targetFor(t, cpu)))(t)
		}
		must.Get(transform.VerifyMemory(m, nil))(t)
		f.Attrs = map[string]any{"target": targetFor(t, "c")}
		_, err = transform.VerifyMemory(m, targetFor(t, "opencl"))
		require.NoError(t, err, "the function's own target takes precedence")
		f.Attrs = map[string]any{"target": targetFor(t, "cuda")}
		if _, err = transform.VerifyMemory(m, targetFor(t, "c")); want != "" {
			require.ErrorContains(t, err, strings.ReplaceAll(want, "opencl", "cuda"))
		}
	}
}

// Functions that only kernels call run on the device; those that the host calls as well do not.
func TestVerifyMemory_CalledByKernels(t *testing.T) {
	source := func(host string) string {
		return "func inner(p: handle) {\nbuffer a: int32[8], param p\na[0] = 1\n}\nfunc middle(p: handle) {\nfunc " +
			"inner(p)\n}\n" +
			"func main(p: handle) {\nbuffer a: int32[8], param p\nthread i in range(8), thread \"threadIdx.x\" { func " +
			"middle(p) }\n" + host + "\n}"
	}
	for host, want := range map[string]string{"": "",
		"func inner(p)": "function inner: buffer a, in memory of opencl, is written by the host, at body"} {
		m := must.Get(text.Parse(source(host)))(t)
		require.NoError(t, tir.Check(m))
		_, err := transform.VerifyMemory(m, targetFor(t, "opencl"))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// The error names the exceeded limit, the requested value and the allowed one. There is no error at the limit, or
// without it.
func TestVerifyLimits(t *testing.T) {
	block := func(x, y int, inner string) string {
		return fmt.Sprintf(`thread b in range(2), thread "blockIdx.x" {
  thread y in range(%d), thread "threadIdx.y" {
    thread x in range(%d), thread "threadIdx.x" { %s } } }`, y, x, inner)
	}
	shared := func(of string) string {
		return block(8, 1, "alloc s: "+of+"\ns[0] = 1\nalloc q: int32[3], scope \"shared\"\nq[0] = 1")
	}
	many := ""
	for i := range 7 {
		many += fmt.Sprintf("alloc t%d: int32[4]\n", i)
	}
	sum := "n"
	for i := range 7 {
		sum += fmt.Sprintf(" + t%d[1]", i)
	}
	for name, c := range map[string]struct {
		body, attr string
		asked      int64
		want       string
	}{
		"threads of a block": {block(32, 8, "out[0] = 1"), "max_threads_per_block", 256,
			"verify limits: function f: at body.for(b): a block has 256 threads (threadIdx.x 32, threadIdx.y 8), 1 more " +
				"than max_threads_per_block of target vulkan allows (255): " +
				"bind shorter loops to threads, or build for a target that has more, " +
				`as in {"kind": "vulkan", "max_threads_per_block": 256}`},
		"threads": {block(32, 8, "out[0] = 1"), "max_num_threads", 256,
			"1 more than max_num_threads of target vulkan allows (255)"},
		"threads along x": {block(32, 8, "out[0] = 1"), "max_block_size_x", 32,
			"a block has 32 threads along threadIdx.x, 1 more than max_block_size_x of target vulkan allows (31): bind a " +
				"shorter loop to threadIdx.x"},
		"threads along y": {block(32, 8, "out[0] = 1"), "max_block_size_y", 8,
			"a block has 8 threads along threadIdx.y, 1 more than max_block_size_y"},
		"shared memory": {shared(`int8[5, 6], scope "shared"`), "max_shared_memory_per_block", 42,
			"a block uses 42 bytes of shared memory, most of it for buffer s, 1 more than max_shared_memory_per_block of " +
				"target vulkan allows (41): compute smaller tiles"},
		"shared memory, gaps": {shared(`int16[5, 6], strides [9, 1], scope "shared.dyn"`),
			"max_shared_memory_per_block", 2*42 + 12, "96 bytes"},
		"shared memory, twice": {shared("int8[5, 6], scope \"shared\"\nattr \"double_buffer_scope\" buffer s = 1"),
			"max_shared_memory_per_block", 72, "72 bytes"},
		"shared memory, once": {shared("int8[5, 6], scope \"shared\"\nattr \"another\" buffer s = 1"),
			"max_shared_memory_per_block", 42, "42 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.ReplaceAll(c.body, "s[0] = 1", "")
			m := &tir.IRModule{Funcs: []*tir.PrimFunc{parsed(t, body)}}
			got := must.Get(transform.VerifyLimits(m,
				targetFor(t, map[string]any{"kind": "vulkan", "max_threads_per_block": 4096, "max_num_threads": 4096,
					c.attr: c.asked})))(t)
			require.True(t, m == got)
			_, err := transform.VerifyLimits(m,
				targetFor(t, map[string]any{"kind": "vulkan", "max_threads_per_block": 4096, "max_num_threads": 4096,
					c.attr: c.asked - 1}))
			require.ErrorContains(t, err, c.want)
			for _, none := range []*target.Target{nil, targetFor(t, "ext_dev"), targetFor(t, "sdaccel")} {
				_, err = transform.VerifyLimits(m, none)
				require.NoError(t, err, "a target without the attribute limits nothing")
			}
		})
	}
	verify := func(body string, on any) error {
		_, err := transform.VerifyLimits(&tir.IRModule{Funcs: []*tir.PrimFunc{parsed(t, body)}}, targetFor(t, on))
		return err
	}
	manyArgs := many + block(8, 1, "out[x] = "+sum)
	require.NoError(t, verify(manyArgs, map[string]any{"kind": "opencl", "max_function_args": 9}))
	require.ErrorContains(t, verify(manyArgs, map[string]any{"kind": "opencl", "max_function_args": 8}),
		"body.alloc(t0).body.alloc(t1).body.alloc(t2).body.alloc(t3).body.alloc(t4).body.alloc(t5).body.alloc(t6)."+
			"body.for(b): the kernel takes 9 arguments (out, n, t0, t1, t2, t3, t4, t5, …), "+
			"1 more than max_function_args of target opencl allows (8)")
	require.ErrorContains(t, verify(block(8, 1, "alloc s: int8[n], scope \"shared\"\ns[0] = cast(int8, 1)"), "opencl"),
		`the size of buffer s in scope "shared" is not constant`)

	warp := block(12, 1, `alloc w: int32[2], scope "warp"`+"\nw[0] = 1")
	require.ErrorContains(t, verify(warp, "cuda"),
		"at body.for(b): memory of buffer w is a warp's, and threadIdx.x has 12 iterations, which end within a warp: "+
			"thread_warp_size of target cuda is 32")
	require.NoError(t, verify(block(16, 2, `alloc w: int32[2], scope "warp"`+"\nw[0] = 1"), "cuda"))
	require.NoError(t, verify(block(96, 2, `storage_sync("warp")`), "cuda"))
	require.ErrorContains(t, verify(block(16, 1, `storage_sync("warp")`), "opencl"),
		"threads of a warp wait for each other, and thread_warp_size of target opencl is 1: it has no warps")
	shuffle := block(32, 1, "let v = warp_shuffle_xor[int32](x, 8)\nout[x] = v")
	require.NoError(t, verify(shuffle, "cuda"))
	require.NoError(t, verify(shuffle, map[string]any{"kind": "opencl", "thread_warp_size": 16}))
	require.ErrorContains(t, verify(shuffle, map[string]any{"kind": "opencl", "thread_warp_size": 8}),
		"warp_shuffle_xor moves a value among 16 threads of a warp, and thread_warp_size of target opencl is 8")

	vector := "out[ramp(0, 1, 8)] = broadcast(n, 8)"
	require.NoError(t, verify(vector, "llvm"))
	require.NoError(t, verify(vector, map[string]any{"kind": "llvm", "vector-width": 256}))
	require.ErrorContains(t, verify(vector, map[string]any{"kind": "llvm", "vector-width": 128}),
		"a vector of type int32x8 has 256 bits, 128 more than vector-width of target llvm allows (128)")

	require.ErrorContains(t, verify("out[ramp(0, 1, 2)] = broadcast(n, 2)",
		map[string]any{"kind": "llvm", "vector-width": 32}), "int32x2 has 64 bits")

	require.NoError(t, verify(`thread i in range(n), thread "threadIdx.x" { out[i] = i }`, "opencl"),
		"sizes of a call are checked at the launch")
	two := block(200, 1, "out[0] = 1") + "\n" +
		strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(block(20, 20, "out[0] = 1"), "thread b",
			"thread b2"), "thread x", "thread x2"), "thread y", "thread y2")
	require.ErrorContains(t, verify(two, "opencl"), "at body[1].for(b2): a block has 400 threads")
}

// Storage that cannot be flattened is rejected.
func TestFlattenStorage_Rejects(t *testing.T) {
	b := tir.NewBuffer("b", tir.Float32, tir.I32(4), tir.I32(4))
	odd := &tir.Buffer{Name: "odd", Data: b.Data, DType: tir.Float32, Shape: []tir.Expr{tir.I32(2)},
		Strides: []tir.Expr{tir.I32(1), tir.I32(1)}}
	back := &tir.Buffer{Name: "back", Data: b.Data, DType: tir.Float32, Shape: []tir.Expr{tir.I32(2)},
		Strides: []tir.Expr{tir.I32(-1)}}
	nothing := &tir.Evaluate{Value: tir.I32(0)}
	for want, s := range map[string]tir.Stmt{
		"flatten storage: function f: buffer odd has 1 dimensions and 2 strides": &tir.Alloc{Buffer: odd,
			Body: nothing},
		"flatten storage: function f: buffer back: strides[0] is -1: only": &tir.Alloc{Buffer: back,
			Body: nothing},
		"flatten storage: function f: buffer b has 2 dimensions, and 1 indices": &tir.Alloc{Buffer: b,
			Body: &tir.BufferStore{Buffer: b, Value: tir.F32(1),
				Indices: []tir.Expr{tir.I32(1)}}},
	} {
		_, err := transform.FlattenStorage(&tir.IRModule{Funcs: []*tir.PrimFunc{{Name: "f", Body: s}}}, nil)
		require.ErrorContains(t, err, want)
	}
}

package c_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// Programs that C cannot express are errors that name the construct and its location.
func TestEmit_Refuses(t *testing.T) {
	i, n := i64("i"), i64("n")
	zero := tir.I64(0)
	int4 := tir.Type{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}
	buffer := func(t tir.Type) *tir.Buffer { return tir.NewBuffer("A", t, n) }
	with := func(body tir.Stmt, buffers ...*tir.Buffer) *tir.PrimFunc { return tensors("f", body, buffers...) }
	evaluate := func(e tir.Expr) *tir.PrimFunc { return with(&tir.Evaluate{Value: e}, buffer(tir.Float32)) }
	nothing := &tir.Evaluate{Value: tir.I32(0)}
	free := tir.NewBuffer("free", tir.Float32, n)
	sized := tensors("g", nothing, free)
	sized.Body = loop(tir.Serial, i, n, store(free, tir.F32(1), i))
	launching := with(loop(tir.Parallel, i, tir.I64(4), nothing))
	launching.Name = "g"
	shared := tir.NewBuffer("s", tir.Float32, tir.I64(4))
	shared.Scope = "shared"
	extents := tir.NewBuffer("E", tir.Float32, tir.Add(n, tir.I64(1)))
	for want, f := range map[string][]*tir.PrimFunc{
		"function f: type int4 has no counterpart in C: cast it to a wider one": {with(store(buffer(int4),
			tir.IntConst(int4, 1), zero), buffer(int4))},
		"function f: variable i has no value here": {evaluate(i)},
		"function f: buffer free has no memory here": {with(store(free,
			tir.F32(1), zero), buffer(tir.Float32), free2(n))},
		"the name \"a-b\" is not valid in C": {tensors("a-b", nothing)},
		"the loop over i is bound to threadIdx.x, which the CPU lacks": {with(&tir.For{Kind: tir.ThreadBind, Var: i,
			Min: zero, Extent: tir.I64(2), Thread: "threadIdx.x", Body: nothing})},
		"the loop over i is unrolled, and its extent is not constant": {with(loop(tir.Unrolled, i,
			n, nothing), buffer(tir.Float32))},
		"buffer s in scope \"shared\": the CPU has \"global\" and \"local\"": {with(&tir.Alloc{Buffer: shared,
			Body: nothing})},
		"intrinsic warp_shuffle is executed by threads of a device": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Int32,
			"warp_shuffle", tir.I32(1), tir.I32(0)))},
		"intrinsic async_commit is executed by threads of a device, which the CPU lacks: remove " +
			"it": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Void, "async_commit"))},
		"intrinsic storage_sync is executed by threads " +
			"of a device": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync",
			tir.Text("shared")))},
		"tvm_struct_get takes a parameter that is a tensor, 0, and one of " +
			"the numbers": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Int32, "tvm_struct_get", tir.I32(1)))},
		"report_index takes the address " +
			"of a record": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Bool, "report_index",
			tir.NewVar("h", tir.Handle), tir.I32(1), tir.I64(1), tir.I64(1)))},
		"check_reports is for functions that " +
			"launch kernels": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Void, "check_reports",
			tir.NewVar("h", tir.Handle)))},
		"an assertion's kind is " +
			"\"Oops\": known are": {with(&tir.Assert{Cond: tir.BoolConst(true),
			Kind: "Oops"})},
		"the call of g: the module has no such function": {evaluate(tir.NewCall(tir.CallFunc,
			tir.Void, "g"))},
		"the call of g: it takes n from a tensor's description": {evaluate(tir.NewCall(tir.CallFunc,
			tir.Void, "g", tir.NewVar("h", tir.Handle))), sized},
		"the call of g passes 0 arguments, and it takes 1": {evaluate(tir.NewCall(tir.CallFunc,
			tir.Void, "g")), sized},
		"the call of g, which has a parallel loop, stands within a parallel loop": {with(loop(tir.Parallel, i,
			tir.I64(2), &tir.Evaluate{Value: tir.NewCall(tir.CallFunc, tir.Void, "g")})), launching},
		"ret_none within a parallel loop": {with(loop(tir.Parallel, i,
			tir.I64(2), &tir.Evaluate{Value: tir.Intrin("ret_none")}))},
		"ret of a value of type int32 in a function " +
			"whose result": {evaluate(tir.NewCall(tir.CallIntrinsic, tir.Void, "ret",
			tir.I32(1)))},
		"a reduction remains: lower the tensor " +
			"expression first": {evaluate(&tir.Reduce{Sources: []tir.Expr{tir.F32(1)}})},
		"buffer E: shape[0] is n + 1, and n has no value": {with(nothing, extents)},
		"a value of type float64 is stored in buffer A of " +
			"type float32": {with(store(buffer(tir.Float32), tir.F64(1), zero), buffer(tir.Float32))},
		"the C function h is called as \"extern void h(int32_t);\" and as \"extern " +
			"void h(float)": {with(tir.Sequence(&tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Void, "h", tir.I32(1))},
			&tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Void, "h", tir.F32(1))}))},
		"the call of the C function \"a b\": that is " +
			"no name in C": {evaluate(tir.NewCall(tir.CallExtern, tir.Void, "a b"))},
	} {
		m := &tir.IRModule{Funcs: f}
		_, err := new(c.Emitter).Emit(m, nil)
		require.ErrorContains(t, err, want)
		require.True(t, strings.HasPrefix(err.Error(), "write C: "), err.Error())
		require.NotContains(t, err.Error(), "malformed")
	}
	require.EqualError(t, must.Fail(new(c.Emitter).Emit(nil, nil)), "write C: the module is nil")
	for _, m := range []*tir.IRModule{{Funcs: []*tir.PrimFunc{nil}}, {Funcs: []*tir.PrimFunc{{Name: "f"}}},
		{Funcs: []*tir.PrimFunc{with(store(nil, nil))}},
		{Funcs: []*tir.PrimFunc{with(&tir.Evaluate{})}}, {Funcs: []*tir.PrimFunc{with(&tir.For{})}},
		{Funcs: []*tir.PrimFunc{{Name: "f", Body: nothing, Params: []*tir.Var{nil}}}}} {
		require.Error(t, must.Fail(new(c.Emitter).Emit(m, nil)))
	}
	f := vadd("f", tir.Float32, tir.Serial)
	f.Name = "exp"
	_, err := (&c.Emitter{Classic: true}).Emit(module(t, f), nil)
	require.ErrorContains(t, err, `the name "exp" is reserved in C`)
}

func free2(n tir.Expr) *tir.Buffer { return tir.NewBuffer("other", tir.Float32, n) }

// Names that C reserves, that are invalid in C, or that are used twice.
func TestEmit_Names(t *testing.T) {
	n, x := i64("int"), tir.NewVar("x.y", tir.Float32)
	a, b := tir.NewBuffer("expf", tir.Float32, n), tir.NewBuffer("expf", tir.Float32, n)
	var funcs []*tir.PrimFunc
	for _, name := range []string{"rc", "args", "lane", "closure", "self", "result", "int32_t", "float32x8", "tvmgo_raise",
		"names_body", "ärger", "", "1", "TVMValue", "p", "from", "value"} {
		i := i64(name)
		f := tensors("names", loop(tir.Parallel, i, n,
			loop(tir.Serial, i64(name), tir.I64(2), tir.Sequence(&tir.Assert{Cond: tir.GE(i, tir.I64(0))},
				store(b, tir.Intrin("exp", tir.Mul(at(a, i), x)), i)))), a, b)
		f.Params = append(f.Params, x)
		m := module(t, f)
		code := emit(t, c.Emitter{}, m)
		require.Equal(t, code, emit(t, c.Emitter{}, m), "the same code each time")
		compile(t, "names", code, "-O0")
		f2 := *f
		f2.Name = "names" + string(rune('a'+len(funcs)))
		funcs = append(funcs, &f2)
	}
	compile(t, "names", emit(t, c.Emitter{}, module(t, funcs...)), "-O0")
}

// A generator of another language, made by hooks.
func TestEmit_Hooks(t *testing.T) {
	n, i, j := i64("n"), tir.NewVar("i", tir.Int32), tir.NewVar("j", tir.Int32)
	a, b := tir.NewBuffer("A", tir.Float32, tir.I64(1024)), tir.NewBuffer("B", tir.Bool, tir.I64(1024))
	s := tir.NewBuffer("s", tir.Float32, tir.I64(32))
	s.Scope = "shared"
	at2 := tir.Add(tir.Mul(i, tir.I32(32)), j)
	body := &tir.For{Kind: tir.ThreadBind, Thread: "blockIdx.x", Var: i, Min: tir.I32(0), Extent: tir.I32(32),
		Body: &tir.Alloc{Buffer: s, Body: &tir.For{
			Kind: tir.ThreadBind, Thread: "threadIdx.x", Var: j, Min: tir.I32(0), Extent: tir.I32(32), Body: tir.Sequence(
				store(s, tir.Intrin("exp", at(a, at2)), j),
				&tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync", tir.Text("shared"))},
				store(b, tir.GT(at(s, tir.Sub(tir.I32(31), j)), tir.F32(1)), at2))}}}
	f := tensors("kernel", body, a, b)
	f.Attrs = map[string]any{"tir.noalias": true}
	e := c.Emitter{Kernels: true, Hooks: c.Hooks{
		TypeName: func(t tir.Type) (string, bool) {
			s, ok := map[tir.Type]string{tir.Int32: "int", tir.UInt8: "uchar"}[t]
			return s, ok
		},
		ThreadIndex: func(tag string) (string, error) {
			if tag == "blockIdx.x" {
				return "get_group_id(0)", nil
			}
			return "get_local_id(0)", nil
		},
		Intrinsic: func(call *tir.Call, args []string) (string, error) {
			switch call.Name {
			case "exp":
				return "native_exp(" + args[0] + ")", nil
			case "storage_sync":
				return "barrier(CLK_LOCAL_MEM_FENCE)", nil
			}
			return "", nil
		},
		Pointer:  func(_ *tir.Buffer, element string) string { return "__global " + element + "*" },
		Declare:  func(_ *tir.PrimFunc, body, params string) string { return "__kernel void " + body + "(" + params + ")" },
		Scope:    func(scope string) (string, error) { return map[string]string{"shared": "__local"}[scope], nil },
		Prologue: func(*tir.PrimFunc) string { return "  // begin\n" },
		Epilogue: func(*tir.PrimFunc) string { return "  // end\n" },
		Finish:   func(code string) string { return "// OpenCL\n" + code },
	}}
	require.Equal(t, `// OpenCL

/* kernel(A: float32[1024], B: bool[1024]) */
__kernel void kernel(__global float* restrict A, __global uchar* restrict B) {
  // begin
  const int i = get_group_id(0);
  __local float s[32];
  const int j = get_local_id(0);
  s[j] = native_exp(A[i * 32 + j]);
  barrier(CLK_LOCAL_MEM_FENCE);
  B[i * 32 + j] = s[31 - j] > 1.0f;
  // end
}
`, emit(t, e, module(t, f)))

	failing := errors.New("no such thread")
	e.ThreadIndex = func(string) (string, error) { return "", failing }
	require.ErrorIs(t, must.Fail(e.Emit(module(t, f), nil)), failing)
	_, err := e.Emit(module(t, gather()), nil)
	require.ErrorContains(t, err, "an assertion (a row is not within A) on a device, which has no errors")
	_, err = e.Emit(module(t, matmul()), nil)
	require.ErrorContains(t, err, "a parallel loop over i on a device: bind it to threads")
	_ = n
}

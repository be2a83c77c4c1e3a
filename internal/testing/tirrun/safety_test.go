package tirrun

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/tir"
)

// fails runs the function main, and expects an error of the given sort and text.
func fails(t *testing.T, sort error, want string, m *IRModule, args ...any) {
	t.Helper()
	err := Run(m, "main", args...)
	require.ErrorIs(t, err, sort)
	require.ErrorContains(t, err, want)
	require.NotContains(t, err.Error(), "can't be understood")
}

func zeros(t testing.TB, dt Type, shape ...int64) *Array {
	return must.Get(New(dt, shape...))(t)
}

func TestRun_OutOfBounds(t *testing.T) {
	n := NewVar("n", Int32)
	a := NewBuffer("A", Float32, n, I32(3))
	loops := func(kind ForKind, body func(i, j Expr) Stmt) *IRModule {
		return module(t, each(kind, "i", I32(4), func(i Expr) Stmt {
			return each(Serial, "j", I32(3), func(j Expr) Stmt { return body(i, j) })
		}), a)
	}
	for _, kind := range []ForKind{Serial, Vectorized, Unrolled} {
		require.NoError(t, Run(loops(kind, func(i, j Expr) Stmt { return store(a, F32(1), i, j) }), "main",
			zeros(t, Float32, 4, 3)))
		fails(t, ErrBounds, "run main: store A[2, 0]: index 0 is 2, the bound is 2 (at i=2, j=0)",
			loops(kind, func(i, j Expr) Stmt { return store(a, F32(1), i, j) }), zeros(t, Float32, 2, 3))
		fails(t, ErrBounds, "load A[0, 3]: index 1 is 3, the bound is 3 (at i=0, j=2)",
			loops(kind, func(i, j Expr) Stmt { return &Evaluate{Value: BufferAt(a, i, Add(j, I32(1)))} }), zeros(t,
				Float32, 4, 3))
		fails(t, ErrBounds, "store A[-1, 0]: index 0 is -1", loops(kind, func(i, j Expr) Stmt {
			return store(a, F32(1), Sub(i, I32(1)), j)
		}),
			zeros(t, Float32, 4, 3))
		fails(t, ErrBounds, "store A[0, -1]: index 1 is -1", loops(kind, func(i, j Expr) Stmt {
			return store(a, F32(1), i, Sub(j, I32(1)))
		}),
			zeros(t, Float32, 4, 3))
		fails(t, ErrBounds, "load A[0, 3]: index 1 is 3", loops(kind, func(i, j Expr) Stmt {
			return &Evaluate{Value: BufferAt(a, i, &Ramp{Base: I32(0), Stride: I32(1), Lanes: 4})}
		}), zeros(t, Float32, 4, 3))
	}
	// A lane that is not selected may be out of bounds.
	mask := &Ramp{Base: I32(0), Stride: I32(1), Lanes: 4}
	safe := NewCall(CallIntrinsic, Vector(Float32, 4), "if_then_else", LT(mask, I32(3)), BufferAt(a, I32(0), mask),
		Const(Vector(Float32, 4), 0))
	require.NoError(t, Run(module(t, &Evaluate{Value: safe}, a), "main", zeros(t, Float32, 1, 3)))

	// A view that is larger than its memory.
	view := &Buffer{Name: "V", Data: a.Data, DType: Float32, Shape: []Expr{I32(100)}}
	fails(t, ErrBounds, "element 12 from its address is outside of the 48 bytes of A_tensor",
		module(t, store(view, F32(1), I32(12)), a), zeros(t, Float32, 4, 3))
	fails(t, ErrBounds, "store scalar[]: element 3",
		module(t, store(&Buffer{Name: "scalar", Data: a.Data, DType: Float32, Offset: I32(3)}, F32(1)), a),
		zeros(t, Float32, 1, 3))
}

func TestRun_UninitializedMemory(t *testing.T) {
	for _, dt := range []Type{Float32, Int8, Float64, Float16, Bool, {Code: Int8.Code, Bits: 4, Lanes: 1},
		{Code: 15, Bits: 6, Lanes: 1}, Vector(Float32, 2)} {
		local, out := NewBuffer("L", dt, I32(8)), NewBuffer("Y", dt, I32(1))
		body := func(from int32) Stmt {
			return &Alloc{Buffer: local, Body: Sequence(
				each(Serial, "i", I32(8-from), func(i Expr) Stmt { return store(local, BufferAt(out, I32(0)), Add(i, I32(from))) }),
				each(Serial, "j", I32(8), func(j Expr) Stmt { return store(out, BufferAt(local, j), I32(0)) }))}
		}
		require.NoError(t, Run(module(t, body(0), out), "main", zeros(t, dt, 1)), "%s", dt)
		fails(t, ErrUninitialized, "load L[0]: it has not been written (at j=0)", module(t, body(1), out),
			zeros(t, dt, 1))
		// The value of the previous iteration is not valid, either.
		again := each(Serial, "k", I32(2), func(k Expr) Stmt {
			return &Alloc{Buffer: local, Body: Sequence(
				&If{Cond: EQ(k, I32(0)), Then: store(local, BufferAt(out, I32(0)), I32(3))}, store(out,
					BufferAt(local, I32(3)), I32(0)))}
		})
		fails(t, ErrUninitialized, "load L[3]: it has not been written (at k=1)", module(t, again, out),
			zeros(t, dt, 1))
	}
}

func TestRun_RacesOfParallelLoops(t *testing.T) {
	a, b := NewBuffer("A", Float32, I32(8)), NewBuffer("B", Float32, I32(16))
	run := func(seed uint64, body func(i Expr) Stmt) error {
		p := must.Get(Compile(module(t, each(Parallel, "i", I32(8), body), a, b), Options{Seed: seed}))(t)
		_, err := p.Call("main", zeros(t, Float32, 8), zeros(t, Float32, 16))
		return err
	}
	view := &Buffer{Name: "bytes", Data: a.Data, DType: Int8, Shape: []Expr{I32(32)}}
	flat := &Buffer{Name: "flat", Data: b.Data, DType: Float64, Shape: []Expr{I32(8)}}
	for seed := range uint64(20) {
		for name, body := range map[string]func(i Expr) Stmt{
			"own element":  func(i Expr) Stmt { return store(a, BufferAt(b, i), i) },
			"all read one": func(i Expr) Stmt { return store(a, BufferAt(b, I32(3)), i) },
			"own read, written": func(i Expr) Stmt {
				return Sequence(store(a, F32(1), i), store(a, Add(BufferAt(a, i), F32(1)), i))
			},
			"own two":  func(i Expr) Stmt { return store(flat, F64(1), i) },
			"own byte": func(i Expr) Stmt { return store(view, IntConst(Int8, 1), i) },
			"own bytes after all read": func(i Expr) Stmt {
				return Sequence(&Evaluate{Value: BufferAt(a, I32(7))}, store(view, IntConst(Int8, 1), i))
			},
			"inner loop": func(i Expr) Stmt {
				return each(Parallel, "j", I32(2), func(j Expr) Stmt { return store(b, F32(1), Add(Mul(i, I32(2)), j)) })
			},
		} {
			require.NoError(t, run(seed, body), name)
		}
		for name, body := range map[string]func(i Expr) Stmt{
			"all write one":         func(i Expr) Stmt { return store(a, F32(1), I32(3)) },
			"one reads the other's": func(i Expr) Stmt { return store(a, BufferAt(a, Sub(I32(7), i)), i) },
			"one writes, all read": func(i Expr) Stmt {
				return &If{Cond: EQ(i, I32(3)), Then: store(b, F32(1), I32(0)), Else: &Evaluate{Value: BufferAt(b, I32(0))}}
			},
			"sum": func(i Expr) Stmt { return store(a, Add(BufferAt(a, I32(0)), F32(1)), I32(0)) },
			"byte of another's number": func(i Expr) Stmt {
				return Sequence(store(a, F32(1), i), store(view, IntConst(Int8, 1), Mul(Sub(I32(7), i), I32(4))))
			},
			"bytes of another's": func(i Expr) Stmt {
				return Sequence(store(a, F32(1), i), &Evaluate{Value: BufferAt(view, I32(5))})
			},
			"overlap": func(i Expr) Stmt {
				return Sequence(store(b, F32(1), i), store(flat, F64(1), I32(7)), store(b, F32(1), I32(15)))
			},
			"inner loops": func(i Expr) Stmt {
				return each(Parallel, "j", I32(2), func(j Expr) Stmt { return store(b, F32(1), i) })
			},
		} {
			err := run(seed, body)
			require.ErrorIs(t, err, ErrRace, name)
			require.ErrorContains(t, err, "must not access the same element unless all read it")
		}
	}
	err := run(0, func(i Expr) Stmt { return store(a, F32(1), I32(3)) })
	require.Regexp(t,
		`^run main: store A\[3\]: iteration i=\d writes what iteration i=\d wrote: `+
			`iterations of parallel loop i must .* \(at i=\d\)$`,
		err.Error())
}

// Two parameters with the same memory.
func TestRun_RacesOfAliases(t *testing.T) {
	a, b := NewBuffer("A", Float32, I32(8)), NewBuffer("B", Float32, I32(8))
	m := module(t, each(Parallel, "i", I32(8), func(i Expr) Stmt { return store(a, BufferAt(b, Sub(I32(7), i)), i) }),
		a, b)
	one := zeros(t, Float32, 8)
	require.NoError(t, Run(m, "main", one, zeros(t, Float32, 8)))
	fails(t, ErrRace, "what iteration", m, one, &Array{DType: Float32, Shape: []int64{8}, Data: one.Data})
}

// Another seed changes the order of iterations; each runs once.
func TestRun_OrderOfParallelLoops(t *testing.T) {
	for _, n := range []int64{0, 1, 7, 1 << 12, 1<<12 + 1, 5040, 65536} {
		orders := map[string]bool{}
		for seed := range uint64(4) {
			p := must.Get(Compile(&IRModule{}, Options{Seed: seed}))(t)
			order := p.newRun().order(n)
			seen := make([]bool, n)
			var text strings.Builder
			for k := range n {
				i := order(k)
				require.False(t, seen[i])
				seen[i] = true
				if k < 50 {
					text.WriteString(" " + string(rune(i)))
				}
			}
			orders[text.String()] = true
		}
		if n > 1 {
			require.Greater(t, len(orders), 1, "%d", n)
		}
	}
}

func TestRun_Limits(t *testing.T) {
	a := NewBuffer("A", Float32, I32(1))
	call := func(o Options, body Stmt) error {
		p := must.Get(Compile(module(t, body, a), o))(t)
		_, err := p.Call("main", zeros(t, Float32, 1))
		return err
	}
	nothing := store(a, F32(1), I32(0))
	loop := func(n int32) Stmt { return each(Serial, "i", I32(n), func(Expr) Stmt { return nothing }) }
	require.NoError(t, call(Options{MaxSteps: 100}, loop(100)))
	require.ErrorIs(t, call(Options{MaxSteps: 100}, loop(101)), ErrLimit)
	require.ErrorIs(t, call(Options{MaxSteps: 100}, &While{Cond: BoolConst(true), Body: nothing}), ErrLimit)
	require.ErrorIs(t, call(Options{MaxSteps: 100}, each(Parallel, "i", I32(1<<30), func(Expr) Stmt { return &Seq{} })),
		ErrLimit)
	require.ErrorIs(t, call(Options{MaxSteps: 100}, each(ThreadBind, "threadIdx.x", I32(1<<30), func(Expr) Stmt {
		return &Seq{}
	})), ErrLimit)
	require.ErrorIs(t, call(Options{}, each(ThreadBind, "threadIdx.x", I32(1<<30), func(Expr) Stmt {
		return sync("shared")
	})), ErrLimit)
	alloc := func(shape ...Expr) Stmt { return &Alloc{Buffer: NewBuffer("L", Float32, shape...), Body: &Seq{}} }
	require.NoError(t, call(Options{MaxBytes: 400}, alloc(I32(100))))
	require.ErrorIs(t, call(Options{MaxBytes: 400}, alloc(I32(102))), ErrLimit)
	require.ErrorIs(t, call(Options{}, alloc(I64(1<<62), I64(1<<62))), ErrLimit)
	require.NoError(t, call(Options{}, alloc(I64(0), I64(1<<62))))
	require.ErrorIs(t, call(Options{}, alloc(I32(-1))), ErrArgument)

	// A function that calls itself without end.
	f := &PrimFunc{Name: "main", Result: Void, Body: &Evaluate{Value: NewCall(CallFunc, Void, "main")}}
	m := must.Get(NewModule(f))(t)
	fails(t, ErrLimit, "200 nested calls", m)
}

func TestRun_Assert(t *testing.T) {
	n := NewVar("n", Int32)
	a := NewBuffer("A", Float32, n)
	m := module(t, each(Serial, "i", n, func(i Expr) Stmt {
		return &Assert{Cond: LT(i, I32(2)), Kind: "ValueError", Message: "i is too large"}
	}), a)
	require.NoError(t, Run(m, "main", zeros(t, Float32, 2)))
	err := Run(m, "main", zeros(t, Float32, 3))
	require.ErrorIs(t, err, ErrAssert)
	var failed *AssertError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, AssertError{"ValueError", "i is too large"}, *failed)
	require.EqualError(t, err, "run main: ValueError: i is too large (at i=2)")
}

// The properties that a buffer declares are checked against its array; the others come from the array.
func TestRun_Parameters(t *testing.T) {
	n, m, s, o := NewVar("n", Int32), NewVar("m", Int64), NewVar("s", Int64), NewVar("o", Int32)
	a, b := NewBuffer("A", Float32, n, m), NewBuffer("B", Float32, m, n)
	b.Strides, b.Offset = []Expr{s, I64(1)}, o
	out := NewBuffer("Y", Int64, I32(4))
	mod := module(t, Sequence(store(out, NewCast(Int64, n), I32(0)), store(out, m, I32(1)), store(out, s, I32(2)),
		store(out, NewCast(Int64, o), I32(3)),
		store(b, F32(5), I64(1), I32(1))), a, b, out)
	x, y := zeros(t, Float32, 2, 3), zeros(t, Float32, 40)
	wide := &Array{DType: Float32, Shape: []int64{3, 2}, Strides: []int64{7, 1}, Offset: 4, Data: y.Data}
	got := zeros(t, Int64, 4)
	require.NoError(t, Run(mod, "main", x, wide, got))
	require.Equal(t, []int64{2, 3, 7, 4}, numbers[int64](t, got))
	require.Equal(t, float32(5), numbers[float32](t, y)[4+7+1])
	require.Equal(t, float32(5), numbers[float32](t, wide)[3])

	for text, args := range map[string][]any{
		"2 arguments for 3 parameters":    {x, wide},
		"buffer B: shape[0] is 2, want 3": {x, &Array{DType: Float32, Shape: []int64{2, 2}, Data: y.Data}, got},
		"buffer B: strides[1] is 2, want 1": {x, &Array{DType: Float32, Shape: []int64{3, 2}, Strides: []int64{7, 2},
			Data: y.Data}, got},
		"array of float64 for buffer A": {zeros(t, Float64, 2, 3), wide, got},
		"for buffer A of 2 dimensions":  {zeros(t, Float32, 2), wide, got},
		"found int: want *tirrun.Array": {3, wide, got},
		"found nothing, want an array":  {nil, wide, got},
		"its 160 bytes have space for 40": {x, &Array{DType: Float32, Shape: []int64{3, 2}, Strides: []int64{20, 1},
			Data: y.Data}, got},
		"shape [-1 2]: dimension 0 is negat": {&Array{DType: Float32, Shape: []int64{-1, 2}}, wide, got},
		"2 strides for 1 dimensions": {x, wide, &Array{DType: Int64, Shape: []int64{4}, Strides: []int64{1, 1},
			Data: got.Data}},
		"want compact ones: buffer Y": {x, wide, &Array{DType: Int64, Shape: []int64{4}, Strides: []int64{0},
			Data: got.Data}},
		"offset 1, want 0: buffer Y":      {x, wide, &Array{DType: Int64, Shape: []int64{3}, Offset: 1, Data: got.Data}},
		"buffer Y: shape[0] is 3, want 4": {x, wide, zeros(t, Int64, 3)},
		"the array is nil":                {(*Array)(nil), wide, got},
	} {
		fails(t, ErrArgument, text, mod, args...)
	}
	require.ErrorContains(t, must.Fail((&Program{}).Call("nix")), "the module has no such function")
	require.ErrorContains(t, Run(nil, "main"), "the module is nil")
}

// Scalar arguments are converted to the types of their parameters.
func TestRun_ScalarsAndResults(t *testing.T) {
	for _, c := range []struct {
		t        Type
		in, want any
	}{{Int8, -5, int64(-5)}, {UInt64, uint64(1 << 63), uint64(1 << 63)}, {Float32, 0.1, float64(float32(0.1))}, {Bool,
		true, true}, {Float16, 2049, 2048.0},
		{Int32, uint8(7), int64(7)}} {
		v := NewVar("v", c.t)
		m := must.Get(NewModule(&PrimFunc{Name: "main", Params: []*Var{v}, Result: c.t, Body: Sequence(
			&If{Cond: BoolConst(true), Then: &Evaluate{Value: NewCall(CallIntrinsic, c.t, "ret", v)}}, &Assert{
				Cond: BoolConst(false)})}))(t)
		p := must.Get(Compile(m, Options{}))(t)
		require.Equal(t, c.want, must.Get(p.Call("main", c.in))(t))
	}
	m := must.Get(NewModule(&PrimFunc{Name: "main", Result: Int32, Body: &Seq{}}))(t)
	fails(t, ErrInvalid, "ended without a result", m)
}

// Compile returns an error with a reason.
func TestCompile_Refuses(t *testing.T) {
	a := NewBuffer("A", Float32, I32(4))
	v := NewVar("v", Int32)
	warp := NewBuffer("W", Float32, I32(4))
	warp.Scope = "warp"
	ret := &Evaluate{Value: NewCall(CallIntrinsic, Void, "ret_none")}
	for text, s := range map[string]Stmt{
		"a statement is nil": &Seq{Stmts: []Stmt{nil}},
		"value of type float64 for elements of type float32": &BufferStore{Buffer: a, Value: F64(1), Indices: []Expr{I32(0)}},
		"loop has no variable":                               &For{},
		"want one of [blockIdx.x": &For{Kind: ThreadBind, Var: v, Min: I32(0), Extent: I32(1), Thread: "gpu",
			Body: &Seq{}},
		"kind 77 does not exist":              &For{Kind: 77, Var: v, Min: I32(0), Extent: I32(1), Body: &Seq{}},
		"the extent of loop v has type float": &For{Var: v, Min: I32(0), Extent: F32(1), Body: &Seq{}},
		"variable v (int32) has no value":     &Evaluate{Value: v},
		"scope \"warp\" is not supported":     &Alloc{Buffer: warp, Body: &Seq{}},
		"with concurrent iterations":          each(Parallel, "i", I32(1), func(Expr) Stmt { return ret }),
		"inside a parallel loop":              each(Parallel, "i", I32(1), func(Expr) Stmt { return sync("shared") }),
		"want the text \"shared\"":            sync("global"),
		"want bool":                           &While{Cond: I32(1), Body: &Seq{}},
		"buffer x has no address":             &Alloc{Buffer: &Buffer{Name: "x"}, Body: &Seq{}},
		"buffer L is neither allocated":       store(NewBuffer("L", Float32), F32(1)),
	} {
		_, err := Compile(module(t, s, a), Options{})
		require.ErrorIs(t, err, ErrInvalid, text)
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "can't be understood")
	}
	_, err := Compile(&IRModule{Funcs: []*PrimFunc{{Name: "f", Buffers: map[*Var]*Buffer{v: a}, Body: &Seq{}}}}, Options{})
	require.ErrorContains(t, err, "belongs to none of its parameters")
	require.ErrorIs(t, must.Fail(Compile(&IRModule{Funcs: []*PrimFunc{nil}}, Options{})), ErrInvalid)
	// Malformed nodes do not crash the process.
	for _, s := range []Stmt{&Evaluate{Value: &Binary{}}, &Evaluate{Value: (*Var)(nil)}, &LetStmt{}, &If{}, (*For)(nil),
		&Evaluate{Value: &ProducerLoad{}},
		&Evaluate{Value: &Call{Kind: 9}}, &BufferStore{}, &Alloc{}, &Evaluate{Value: And(v, v)}} {
		require.ErrorIs(t, must.Fail(Compile(module(t, s, a), Options{})), ErrInvalid, "%T", s)
	}
}

// A loop whose variable would exceed its type, and a loop without iterations.
func TestRun_LoopBounds(t *testing.T) {
	out := NewBuffer("Y", Int32, I32(1))
	loop := func(dt Type, low, n int64) *IRModule {
		v := NewVar("i", dt)
		return module(t, &For{Var: v, Min: IntConst(dt, low), Extent: I64(n),
			Body: store(out, Add(BufferAt(out, I32(0)), NewCast(Int32, v)), I32(0))}, out)
	}
	for _, c := range [][4]int64{{0, 4, 6}, {-3, 2, -5}, {5, 0, 0}, {5, -7, 0}, {120, 8, 988}} {
		y := zeros(t, Int32, 1)
		require.NoError(t, Run(loop(Int8, c[0], c[1]), "main", y))
		require.Equal(t, []int64{c[2]}, numbers[int64](t, y))
	}
	fails(t, ErrArithmetic, "exceeds type int8", loop(Int8, 120, 9), zeros(t, Int32, 1))
	fails(t, ErrArithmetic, "exceeds type int64", loop(Int64, 1<<62, 1<<62+1), zeros(t, Int32, 1))
}

func TestRun_CallsOutside(t *testing.T) {
	a := NewBuffer("A", Float32, I32(4))
	local := NewBuffer("L", Int32, I32(4))
	p := NewVar("p", Float64)
	body := &Alloc{Buffer: local, Body: Sequence(
		&Evaluate{Value: NewCall(CallPacked, Void, "fill", local.Data, I32(7), Text("by"),
			&Broadcast{Value: F32(2), Lanes: 2})},
		&LetStmt{Var: p, Value: NewCall(CallExtern, Float64, "half", NewCast(Float64, BufferAt(local, I32(2)))),
			Body: store(a, NewCast(Float32, p), I32(1))},
		&Evaluate{Value: NewCall(CallExtern, Void, "third", NewCall(CallIntrinsic, Handle, "address_of",
			BufferAt(a, I32(1))))},
	)}
	var got []any
	funcs := map[string]func([]any) (any, error){
		"fill": func(args []any) (any, error) {
			got = args
			d := args[0].(*Array).Data
			for i := range d {
				require.EqualValues(t, poison, d[i])
				d[i] = 1
			}
			return nil, nil
		},
		"half":  func(args []any) (any, error) { return args[0].(float64) / 2, nil },
		"third": func(args []any) (any, error) { got = append(got, len(args[0].(*Array).Data)); return nil, nil },
	}
	prog := must.Get(Compile(module(t, body, a), Options{Funcs: funcs}))(t)
	x := zeros(t, Float32, 4)
	must.Get(prog.Call("main", x))(t)
	require.Equal(t, []any{int64(7), "by", []float64{2, 2}, 12}, got[1:])
	require.Equal(t, float32(0x01010101/2.0), numbers[float32](t, x)[1])

	broken := errors.New("broken")
	again := func(half func([]any) (any, error)) error {
		funcs["half"] = half
		prog := must.Get(Compile(module(t, body, a), Options{Funcs: funcs}))(t)
		_, err := prog.Call("main", x)
		return err
	}
	err := again(func([]any) (any, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, ErrCall)
	err = again(func([]any) (any, error) { return "text", nil })
	require.ErrorContains(t, again(func([]any) (any, error) { panic("oh") }), "call of half: panic: oh")
	require.ErrorContains(t, err, "call of half: its result: found text (string): want a value of type float64")
}

func TestRun_CallsInside(t *testing.T) {
	x, n := NewVar("x", Int32), NewVar("n", Int32)
	// fib calls itself; scale gets a tensor, whose shape defines its sizes.
	fib := &PrimFunc{Name: "fib", Params: []*Var{x}, Result: Int32, Body: Sequence(
		&If{Cond: LT(x, I32(2)), Then: &Evaluate{Value: NewCall(CallIntrinsic, Int32, "ret", x)}},
		&Evaluate{Value: NewCall(CallIntrinsic, Int32, "ret", Add(NewCall(CallFunc, Int32, "fib", Sub(x, I32(1))),
			NewCall(CallFunc, Int32, "fib", Sub(x, I32(2)))))})}
	tensor := NewVar("tensor", Handle)
	b := NewBuffer("B", Int32, n)
	scale := &PrimFunc{Name: "scale", Params: []*Var{tensor, x}, Buffers: map[*Var]*Buffer{tensor: b}, Result: Void,
		Body: each(Serial, "i", Add(n, x), func(i Expr) Stmt { return store(b, Mul(BufferAt(b, i), I32(2)), i) })}
	a := NewBuffer("A", Int32, I32(12))
	m := module(t, each(Serial, "k", I32(1), func(k Expr) Stmt {
		return Sequence(
			each(Serial, "i", I32(12), func(i Expr) Stmt { return store(a, NewCall(CallFunc, Int32, "fib", i), i) }),
			&Evaluate{Value: NewCall(CallFunc, Void, "scale", a.Data, k)},
			&Evaluate{Value: NewCall(CallFunc, Void, "scale", a.Data, Add(k, I32(1)))})
	}), a)
	m.Funcs = append(m.Funcs, fib, scale)
	y := zeros(t, Int32, 12)
	fails(t, ErrBounds, "run scale: load B[12]: index 0 is 12, the bound is 12 (at k=0, scale(), i=12)", m, y)
	require.Equal(t, []int32{0, 4, 4, 8, 12, 20, 32, 52, 84, 136, 220, 356}, numbers[int32](t, y))
}

func TestArray_Values(t *testing.T) {
	int4 := Type{Code: Int8.Code, Bits: 4, Lanes: 1}
	a := array(t, int4, []int{1, -2, 7, -8, 3}, 5)
	require.Equal(t, []byte{0xe1, 0x87, 0x03}, a.Data)
	require.Equal(t, []int{1, -2, 7, -8, 3}, numbers[int](t, a))
	c := must.Get(codecOf(int4))(t)
	c.puti(a.Data, 4, 5) // overwrites one element between others
	require.Equal(t, []int{1, 5, 7, -8, 3}, numbers[int](t, a))
	require.Equal(t, []float32{1, 0.5, -2, 448},
		numbers[float32](t, array(t, Type{Code: 10, Bits: 8, Lanes: 1}, []float32{1, 0.5, -2, 450}, 4)))
	require.Equal(t, []byte{1, 0, 1}, array(t, Bool, []float64{0.5, 0, 2}, 3).Data)
	require.Equal(t, []uint64{255, 1}, numbers[uint64](t, array(t, UInt8, []int{-1, 257}, 2)))
	require.Equal(t, []float64{1, 2, 3, 4}, numbers[float64](t, array(t, Vector(Float16, 2), []int{1, 2, 3, 4}, 2)))
	require.Equal(t, []int{3, 2, 1}, numbers[int](t, &Array{DType: Int8, Shape: []int64{3}, Strides: []int64{-1},
		Offset: 2, Data: []byte{1, 2, 3}}))
	require.ErrorContains(t, must.Fail(From(Int8, []int{1, 2}, 3)), "has 3 numbers, found 2")
	require.ErrorContains(t, must.Fail(New(Handle, 3)), "can't be in memory")
	require.ErrorContains(t, must.Fail(New(Int8, 1<<40)), "the limit is 4 GiB")
	_, err := Values[int](&Array{DType: Int8, Shape: []int64{4}, Data: []byte{1}})
	require.ErrorContains(t, err, "give it more")
}

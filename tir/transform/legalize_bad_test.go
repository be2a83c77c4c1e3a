package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// Programs that wider types cannot express are rejected, with a remedy.
func TestLegalizeTypes_Refuses(t *testing.T) {
	for body, want := range map[string]string{
		"extern g(cast(int4, n))": "legalize types: " +
			"function f: the call of g passes argument 0 of type int4, which functions cannot take: cast it to a wider one",
		"packed g(cast(float8_e5m2, n))": "the call of g " +
			"passes argument 0 of type float8_e5m2",
		"eval cast(int32, extern g[int4](n))": "the call of g " +
			"returns type int4",
		"alloc a: int4[8], data pa: handle\na[0] = cast(int4, n)\nextern g(pa)": "the address of " +
			"buffer a of type int4 is given away",
		"alloc a: float4_e2m1fn[8]\na[0] = cast(float4_e2m1fn, n)\nextern g(address_of[handle](a[0]))": "the address of " +
			"an element of buffer a of type float4_e2m1fn: several elements share a byte",
		"alloc a: int4x2[8]\na[0] = broadcast(cast(int4, n), 2)\nalloc b: int4[8], data pb: handle\nb[0] = cast(int4, " +
			"n)\nbuffer v: int4[4, 2], data pb\nattr \"buffer_view\" buffer v = pb\nv[0, 0] = cast(int4, n)": "buffer v is a " +
			"view of buffer b of type int4: legalize types before memory is shared",
		"out[0] = cast(int32, reinterpret[int8](broadcast(cast(int4, n), 2)))": "reinterpret of int4x2 as int8: with " +
			"narrow types as many lanes of as many bits are wanted",
	} {
		m, err := transform.LegalizeTypes(&tir.IRModule{Funcs: []*tir.PrimFunc{parsed(t, body)}}, nil)
		require.ErrorContains(t, err, want, body)
		require.Nil(t, m)
	}
	packed := func(of, body string) error {
		m := must.Get(text.Parse("func f(p: handle) {\nbuffer q: " + of + ", param p\n" + body + "\n}"))(t)
		require.NoError(t, tir.Check(m))
		_, err := transform.LegalizeTypes(m, nil)
		return err
	}
	require.ErrorContains(t, packed("int4[8]", "thread i in range(8), thread \"threadIdx.x\" { q[i] = int4(1) }"),
		"buffer q of type int4 is written by threads of a device, and several of its elements share a byte")
	require.NoError(t, packed("int4[8]",
		"thread i in range(1), thread \"threadIdx.x\" { for j in range(8) { q[j] = int4(1) } }"))
	require.ErrorContains(t, packed("int4x2[8]", "q[0] = broadcast(int4(1), 2)"),
		"buffer q has elements of type int4x2, of which several share a byte")
	require.ErrorContains(t, packed("int4[8], strides [-1]", "q[0] = int4(1)"), "buffer q: strides[0] is -1")
	require.NoError(t, packed("float8_e4m3fn[8]",
		"thread i in range(8), thread \"threadIdx.x\" { q[i] = float8_e4m3fn(1.0) }"))
}

// Only one thread writes elements that share bytes. Strides and offsets count elements.
func TestLegalizeTypes_Packed(t *testing.T) {
	m, err := text.Parse("func f(p: handle, s: int32) {\nbuffer q: int4[3, n], param p, strides [s, 1], offset o\n" +
		"parallel i in range(3) { for j in range(n) { q[i, j] = cast(int4, i * 3 + j) - q[i, j] } }\n}")
	if err != nil { // sizes are declared before they are used
		m, err = text.Parse("func f(p: handle, s: int32) {\nvar n: int32\nvar o: int32\nbuffer q: int4[3, n], param p, " +
			"strides [s, 1], offset o\n" +
			"parallel i in range(3) { for j in range(n) { q[i, j] = cast(int4, i * 3 + j) - q[i, j] } }\n}")
	}
	require.NoError(t, err)
	require.NoError(t, tir.Check(m))
	f := m.Funcs[0]
	g := oneFunc(t, transform.LegalizeTypes, f)
	require.NotContains(t, text.Print(g), "parallel")
	serial := *f
	loop := *f.Body.(*tir.For)
	loop.Kind = tir.Serial
	serial.Body = &loop
	var results [][]byte
	for _, x := range []*tir.PrimFunc{&serial, g} {
		a := must.Get(tirrun.New(int4, 3, 5))(t)
		a.Data = make([]byte, 16)
		for i := range a.Data {
			a.Data[i] = byte(i * 37)
		}
		a.Strides, a.Offset = []int64{9, 1}, 3
		p := must.Get(tirrun.Compile(&tir.IRModule{Funcs: []*tir.PrimFunc{x}}, tirrun.Options{}))(t)
		_, err := p.Call("f", a, 9)
		require.NoError(t, err, text.Print(x))
		results = append(results, a.Data)
	}
	require.Equal(t, results[0], results[1])
}

// Numbers of narrow types are parameters, results and loop variables, and are passed between functions of the module.
func TestLegalizeTypes_Numbers(t *testing.T) {
	m := must.Get(text.Parse("func twice(x: float8_e4m3fn) -> float8_e4m3fn {\nret(x * float8_e4m3fn(2.0))\n}\n" +
		"func f(p: handle, k: int4, x: float8_e4m3fn) {\nbuffer out: float32[16], param p\nfor i in range(int4(-3), " +
		"count=int4(6)) { out[cast(int32, i) + 3] = cast(float32, i * k) }\n" +
		"out[10] = cast(float32, func twice[float8_e4m3fn](x + float8_e4m3fn(0.5)))\n}"))(t)
	require.NoError(t, tir.Check(m))
	legal := must.Get(transform.LegalizeTypes(m, nil))(t)
	require.NoError(t, tir.Check(legal), text.Print(legal))
	var results [][]float32
	for _, x := range []*tir.IRModule{m, legal} {
		p := must.Get(tirrun.Compile(x, tirrun.Options{}))(t)
		out := must.Get(tirrun.New(tir.Float32, 16))(t)
		_, err := p.Call("f", out, -3, 1.3)
		require.NoError(t, err, text.Print(x))
		values := must.Get(tirrun.Values[float32](out))(t)
		results = append(results, values)
	}
	require.Equal(t, results[0], results[1])
	require.Equal(t, float32(3.5), results[0][10], "1.3 is 1.25, and 1.75 twice")
	p := must.Get(tirrun.Compile(legal, tirrun.Options{}))(t)
	out, _ := tirrun.New(tir.Float32, 16)
	_, err := p.Call("f", out, 8, 1.0)
	require.ErrorContains(t, err, "argument k: want a number of type int4, from -8 to 7")
}

// Each type is either supported by the generators or replaced by the pass, never both or neither.
func TestIsLegal_GeneratorAgrees(t *testing.T) {
	for _, typ := range append(append([]tir.Type{}, narrowTypes...),
		append(wideTypes, tir.Int16, tir.UInt8, tir.UInt16, tir.UInt32)...) {
		x := tir.NewBuffer("x", typ, tir.I32(4))
		v := tir.NewVar("p", tir.Handle)
		f := &tir.PrimFunc{Name: "f", Params: []*tir.Var{v}, Buffers: map[*tir.Var]*tir.Buffer{v: x}, Result: tir.Void,
			Body: &tir.BufferStore{Buffer: x, Value: tir.BufferAt(x, tir.I32(1)), Indices: []tir.Expr{tir.I32(0)}}}
		m := &tir.IRModule{Funcs: []*tir.PrimFunc{f}}
		_, err := new(c.Emitter).Emit(m, nil)
		if !transform.IsLegal(typ) {
			require.ErrorContains(t, err, "type "+typ.String()+" has no counterpart in C", typ.String())
			m = must.Get(transform.LegalizeTypes(m, nil))(t)
			_, err = new(c.Emitter).Emit(m, nil)
		}
		require.NoError(t, err, typ.String())
	}
	m := &tir.IRModule{Funcs: []*tir.PrimFunc{parsed(t,
		"alloc h: float16[4]\nh[0] = cast(float16, n) * float16(3.0)\nout[0] = cast(int32, h[0])")}}
	same := must.Get(transform.LegalizeTypes(m, nil))(t)
	require.True(t, m == same, "the generator supports float16")
}

// The sum of a product is rounded once. float32 would turn a value near the middle into a tie.
func TestLegalizeTypes_FMA(t *testing.T) {
	m, err := text.Parse("func f(p: handle, a: float8_e5m2, b: float8_e5m2, c: float8_e5m2) {\nbuffer out: float32[1], " +
		"param p\nout[0] = cast(float32, fma(a, b, c))\n}")
	require.NoError(t, err)
	legal := must.Get(transform.LegalizeTypes(m, nil))(t)
	for _, x := range []*tir.IRModule{m, legal} {
		p := must.Get(tirrun.Compile(x, tirrun.Options{}))(t)
		out := must.Get(tirrun.New(tir.Float32, 1))(t)
		for c, want := range map[float64]float32{0: 32768, 0x1p-16: 40960, -0x1p-16: 32768} { // 36864 is in the middle
			must.Get(p.Call("f", out, 192.0, 192.0, c))(t)
			values := must.Get(tirrun.Values[float32](out))(t)
			require.Equal(t, want, values[0], "plus %v", c)
		}
	}
}

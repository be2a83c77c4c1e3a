package graph_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/internal/testing/graphtext"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// written has what the text of a function can contain.
const written = `func main(x: float32[n, 4], "a b": bool[], idx: int64[2], trips: int64[]) where m in 3, n in 1..64 {
  %0: float32[n, 4] = relu(x)
  listed: int64[2] = sizes() {n * 2, 3}
  y: float32[n, 4] = elu(%0) alpha=0.5
  y%1: float32[4, n] = transpose(y) perm=[1, 0]
  idx%2: int64[2] = elements(idx) {s0, s1}
  const big: int8[9] = @47e4ee7f211f73265dd17658f6e21c13
  big%3: float32[9] = cast(big) to=float32
  const odd: float32[1] = hex 0100c07f
  filled: float32[s0, s1] = constant_of_shape(idx%2, odd)
  z: float32[s2, 4] = if("a b")
    body then() {
      return y
    }
    body else() {
      twice: float32[n * 2, 4] = concat(y, x) axis=0
      return twice
    }
  last: float32[s4], all: float32[s5, 2, 2] = loop(trips, _, big%3)
    body body(iteration: int64[], cond: bool[], now: float32[s3]) {
      next: float32[s3 + 9] = concat(now, big%3) axis=0
      const w: float32[2, 2] = {1, -2.5, inf, nan}
      return _, next, w
    }
  return y%1, z, last, all, filled, listed
}
`

func TestParse(t *testing.T) {
	table := map[string][]byte{"47e4ee7f211f73265dd17658f6e21c13": {1, 2, 3, 4, 5, 6, 7, 8, 9}}
	read := must.Get(graph.Parse(written, table))(t)
	require.Len(t, read, 1)
	f := read[0]
	require.Equal(t, written, f.String())
	require.NoError(t, graphtext.RoundTrip(f))
	require.Equal(t, table, f.Constants())
	require.Contains(t, f.Text(), "{1, 2, 3, 4, 5, 6, 7, 8, 9}")
}

// Elements of every type are printed such that all bits come back.
func TestText_Elements(t *testing.T) {
	float := func(values ...float32) (data []byte) {
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		return data
	}
	int4 := tir.Type{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}
	for _, c := range []struct {
		t    tir.Type
		n    int64
		data []byte
		want string
	}{
		{tir.Float32, 4, float(0.1, -0, 1e30, float32(math.Copysign(0, -1))), "{0.1, 0, 1e+30, -0}"},
		{tir.Float32, 2, float(float32(math.Inf(-1)), float32(math.NaN())), "{-inf, nan}"},
		{tir.Float32, 1, []byte{1, 0, 0xc0, 0x7f}, "hex 0100c07f"}, // another NaN
		{tir.Float64, 1, []byte{0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f}, "{0.1}"},
		{tir.Float16, 2, []byte{0x66, 0x2e, 0, 0x7c}, "{0.0999755859375, inf}"},
		{tir.BFloat16, 1, []byte{0xcd, 0x3d}, "{0.10009765625}"},
		{dlpack.Float4E2M1FN, 3, []byte{0x5a, 0x07}, "{-1, 3, 6}"},
		{dlpack.Float8E4M3FN, 2, []byte{0x38, 0x01}, "{1, 0.001953125}"},
		{int4, 3, []byte{0x2f, 0x08}, "{-1, 2, -8}"},
		{int4, 3, []byte{0x2f, 0x18}, "hex 2f18"}, // bits behind the last element
		{tir.Int64, 1, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, "{-9223372036854775808}"},
		{tir.UInt64, 1, []byte{255, 255, 255, 255, 255, 255, 255, 255}, "{18446744073709551615}"},
		{tir.UInt8, 2, []byte{0, 255}, "{0, 255}"},
		{tir.Bool, 2, []byte{0, 1}, "{false, true}"},
		{tir.Bool, 1, []byte{2}, "hex 02"},
		{tir.Int8, 0, nil, "{}"},
	} {
		f := graph.NewFunction("main")
		f.Return(must.Get(f.Const("c", c.t, []int64{c.n}, c.data))(t))
		require.Contains(t, f.Text(), "= "+c.want+"\n")
		require.NoError(t, graphtext.RoundTrip(f), c.want)
	}
}

// People leave out what is inferred, and write what the printer quotes.
func TestParse_Infers(t *testing.T) {
	read := must.Get(graph.Parse(`# two functions
func "return"(x: float32[n, s0], # a comment
              to: int64[2]) {
	y, _ = split(x) axis=1 , num_outputs=2
	"const" = expand(x, to)
	twice = elements(to)
  return y, "const", twice }
func second() { return }`, nil))(t)
	require.Len(t, read, 2)
	require.Equal(t, "return", read[0].Name)
	require.Equal(t, []string{"y: float32[n, floordiv(s0 + 1, 2)]",
		"const: float32[select(s1 == 1, n, s1), select(s2 == 1, s0, s2)]", "twice: int64[2]"}, shapes(read[0].Results))
	require.Len(t, read[0].Nodes, 4, "an operand whose elements are read is read by a node")
	for _, f := range read {
		require.NoError(t, graphtext.RoundTrip(f))
	}
}

// Callers know results by the names of their values, unless the text says otherwise.
func TestParse_ResultNames(t *testing.T) {
	for _, c := range []struct {
		results string
		names   []string
		printed string // if it is not results
	}{
		{"return y, z", []string{"y", "z"}, ""},
		{"return y as scores, z", []string{"scores", "z"}, ""},
		{`return z as "all scores", y as z`, []string{"all scores", "z"}, ""},
		{"return y as y, z", []string{"y", "z"}, "return y, z"},
		{"return y, y", nil, ""},
		{"return y, y as again", []string{"y", "again"}, ""},
		{"return y, %0", nil, ""},
		{"return y, %0 as z", []string{"y", "z"}, ""},
		{"return as as a", []string{"a"}, ""},
		{"return x", []string{"x"}, ""},
		{"return", nil, ""},
	} {
		f := must.Get(graph.Parse("func main(x: float32[2]) {\n  y = relu(x)\n  z = neg(y)\n  %0 = exp(y)\n  as = abs(x)\n  "+
			c.results+"\n}", nil))(t)[0]
		require.Equal(t, c.names, f.ResultNames, c.results)
		if c.printed == "" {
			c.printed = c.results
		}
		require.Contains(t, f.String(), "  "+c.printed+"\n}", c.results)
		read := must.Get(graph.Parse(f.String(), nil))(t)[0]
		require.Equal(t, c.names, read.ResultNames, c.results)
		require.NoError(t, graphtext.RoundTrip(f), c.results)
	}
}

func TestParse_Errors(t *testing.T) {
	inside := func(s string) string {
		return "func main(x: float32[n, 4], c: bool[]) {\n  " + s + "\n  return x\n}"
	}
	branch := func(bodies string) string {
		return inside("y: float32[n, 4] = if(c)\nbody then() { return x }\nbody else() {\n" + bodies + "\n}")
	}
	for _, c := range []struct{ text, want string }{
		{"fun main() {}", `line 1, column 1: found "fun", want "func"`},
		{"func main(x float32[2]) {}", `line 1, column 13: found "float32", want ':' and the type of the parameter`},
		{"func main(x: float32[2]) { return x as }", `line 1, column 40: found "}", want the name of a result`},
		{"func main(x: float32[2]) { return x as \"\" }", `line 1, column 40: the name of a result is empty`},
		{"func main(x: float32[2]) { return x, x as x }", `column 43: two results have the name "x": write "as" and another`},
		{"func main(x: float32[2]) {\n%1 = relu(x)\nreturn x as y, %1\n}", `result 1 has no name, and others have one`},
		{branch("return x as y"), `only results of functions have names for callers, and those of bodies have none`},
		{"func main(x: real[2]) {}", `line 1, column 14: found "real", want a type, such as float32`},
		{"func main(x: float32[2 +]) {}", `line 1, column 25: size: found the end of the text, want an expression`},
		{"func main(x: float32[-2]) {}", `size 0 of "x" is -2`},
		{"func main(x: float32[1.5]) {}", `size 0 of "x" is 1.5`},
		{"func main(x: float32[2]) {}", `line 1, column 27: found "}", want the name of a result`},
		{"func main(x: float32[2], x: float32[2]) {\nreturn x }", `column 26: there are two values with the name "x"`},
		{"func main(return: float32[2]) {}", `found "return", which is a word of the syntax`},
		{"func main(", `line 1, column 11: found the end of the text, want the name of a parameter`},
		{"func main(x: float32[n]) where n in 1-3 {", "column 37: want a size, such as 4, or a range of sizes"},
		{"func main(x: float32[n]) where n in 3..1 {", "no size is in the range: want the least size first, 1..3"},
		{"func main(x: float32[n]) where n in 1..3000000000 {", "want sizes from 0 to 2147483647"},
		{"func main(x: float32[n]) where 4 in 1..3 {", `found "4", want the name of a size`},
		{"func main() {\n return _\n}", `line 2, column 9: result 0 is left out`},
		{inside("y = relo(x)"), `line 2, column 3: operator "relo" does not exist: did you mean relu?`},
		{inside("y = relu(z)"), `line 2, column 12: there is no value "z" before this line`},
		{inside("y = relu(x, x)"), `line 2, column 3: 2 operands are given: want at most 1`},
		{inside("y: float32[4, n] = relu(x)"), `value "y" is declared float32[4, n], and the operator makes float32[n, 4]`},
		{inside("y = elu(x) alpha=true"), `line 2, column 14: attribute "alpha" has a wrong value: want a float`},
		{inside("y = elu(x) alpha=1, alpha=2"), `attribute "alpha" is given twice`},
		{inside("y = elu(x) alhpa=1"), `attribute "alhpa" does not exist: the operator has alpha`},
		{inside("y = transpose(x) perm=[1, 0.5]"), `attribute "perm" has a wrong value: want a list of integers`},
		{inside("y = relu(x) {n}"), "operator relu has no sizes in braces"},
		{inside("y = relu(x) relu"), `found the end of the line, want '=' and the value of the attribute`},
		{inside("const w: float32[2] = {1}"), `constant "w" of type float32 and shape [2] has 4 bytes: want 8`},
		{inside("const w: float32[n] = {1}"), `the shape of constant "w" is [n]: want constants`},
		{inside("const w: int8[1] = {128}"), `column 22: "128" is no element of type int8: want an integer of 8 bits`},
		{inside("const w: int8[1] = @00"), `the data of constant "w" is not in the text`},
		{inside("const w: int8[1] = hex 0"), `want two hexadecimal digits for each byte`},
		{inside("const w: int8[1] = 3"), `want {elements}, hex and bytes, or @reference`},
		{inside("y = elements(x)"), "have to be known when the model is compiled"},
		{inside("y = if(c)"), "0 bodies follow operator if: want 2"},
		{branch("  return c"), `value "y" is float32[n, 4], and has to hold a value of bool[]`},
		{branch("z = neg(x)\n return z\n}\n w = relu(z)\n if2: int8[] = if(c)\nbody b() {\nreturn x"),
			`value "z" is in a body, and cannot be read outside of it`},
		{branch("z = neg(x)\n return z, z"), `the bodies return 1 and 2 values, and there are 1 results`},
		{inside("y: float32[2, 4] = loop(_, c, x)\nbody b(i: int64[], g: bool[], now: float32[n, 4]) { return g, now }"),
			`value "y" is float32[2, 4], and has to hold a value of float32[n, 4]`},
		{inside("y: float32[n, 4] = loop(_, c, x)\nbody b(i: int64[], now: float32[n, 4]) { return _, now }"),
			"the body has 2 parameters: want 3"},
		{inside(strings.Repeat("y = if(c) \nbody b() {", 100)), "bodies are nested more than 64 levels deep"},
	} {
		_, err := graph.Parse(c.text, nil)
		require.ErrorContains(t, err, c.want, c.text)
		wrong := (*graph.ParseError)(nil)
		require.ErrorAs(t, err, &wrong)
	}
}

// FuzzParse: nothing panics, and what can be read is written and read again the same.
func FuzzParse(f *testing.F) {
	f.Add(strings.Replace(written, "@47e4ee7f211f73265dd17658f6e21c13", "{1, 2, 3, 4, 5, 6, 7, 8, 9}", 1))
	f.Add("func a(x: float32[$\"a b\", select(n < 2, 3, floordiv(n, 2))]) { return x }")
	for _, name := range graph.OpNames() {
		f.Add("func main(x: float32[n, 4], y: float32[4], i: int64[2]) {\n const c: int64[2] = {1, 2}\n y%1 = " + name +
			"(x, y, i, c)\n return y%1\n}")
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := graph.Parse(text, nil)
		if err != nil {
			wrong := (*graph.ParseError)(nil)
			require.ErrorAs(t, err, &wrong)
			require.Nil(t, read)
			return
		}
		for _, f := range read {
			require.NoError(t, graphtext.RoundTrip(f))
		}
	})
}

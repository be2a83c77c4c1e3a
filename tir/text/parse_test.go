package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// inFunction puts statements into a function that knows a few names.
func inFunction(body string) string {
	return "func f(a: handle, n: int64, m: int32, p: bool) {\nbuffer A: float32[n, 4], param a\n" + body + "\n}\n"
}

func TestParse_Errors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"fun f() {}", `line 1, column 1: found "fun", want "func" to begin a function`},
		{"func f(", `line 1, column 8: found the end of the text, want the name of a parameter`},
		{"func f() {", `line 1, column 11: found the end of the text, want a statement, or "}" to close the block`},
		{"func f() {}}", `line 1, column 12: found "}", want "func"`},
		{"func f() {}\nfunc f() {}", `line 2, column 6: two functions are named f`},
		{`func $""() {}`, "the function has no name"},
		{"func f(x: int32, x: int32) {}", "line 1, column 18: two parameters are named x"},
		{"func f(x: in32) {}", `"in32" is not a type; did you mean int32?`},
		{"func f(x: float33) {}", `"float33" is not a type`},
		{"func f(for: int32) {}",
			`found "for", want the name of a parameter: the word is reserved, write $"for"`},
		{"func f() é", `line 1, column 10: unexpected character 'é': a name with such characters is written $"…"`},
		{"# é\nfunc f(é", "line 2, column 8: unexpected character 'é'"},
		{"func f() { attrs {\"a\": 1, \"a\": 2} }", `attribute "a" occurs twice`},
		{"func f() { attrs {\"a\": \"b\n\"} }", "text has no closing quote on its line"},
		{`func f() { attrs {"a": "\q"} }`, "has an unknown escape"},
		{`func f() { attrs {"a": "`, "text has no closing quote"},
		{`func f() { attrs {"a": 99999999999999999999} }`, "99999999999999999999 is not an int64"},
		{`func f() { attrs {"a": 1e999} }`, "1e999 is too large for a 64-bit float"},
		{`func f() { attrs {"a": x} }`, `found "x", want a number`},
		{`func f() { attrs {"a": target {"kind": } } }`, "the target is not JSON"},
		{`func f() { attrs {"a": target {"kind": "cc"} } }`, `line 1, column 31: target`},
		{`func f() { attrs {"a": target 1 } }`, "want a target as text or as JSON"},
		{inFunction("eval k"), "line 3, column 6: there is no variable k"},
		{inFunction("eval A"), "A is a buffer: add indices, as in A[0]"},
		{inFunction("eval n[0]"), "n is a variable, not a buffer"},
		{inFunction("eval B[0]"), "line 3, column 6: there is no buffer B"},
		{inFunction("A[n] = 1.0"), "buffer A has 2 dimensions, and 1 indices"},
		{inFunction("A[n, 1.5] = 1.0"), "index 1 is of type float32"},
		{inFunction("A[n, 0] = m"), "line 3, column 11: a value of type int32 is stored in buffer A as float32: cast it"},
		{inFunction("n = 1"), `variables have a value by "let n = …"`},
		{inFunction("A[n, 0]"), `want "=" and a value after an element of a buffer`},
		{inFunction("min(1, 2)"), "an expression has no effect: to evaluate it anyway, write eval before it"},
		{inFunction("fr i in range(3) {}"),
			`found "fr", want a statement: for, if, let, alloc, a store A[i] = x, a call, …; did you mean for?`},
		{inFunction("1"), `found "1", want a statement`},
		{inFunction("eval n +"), `line 4, column 1: found "}", want an expression`},
		{inFunction("eval (n"), `found "}", want ")" after an expression`},
		{inFunction("eval n + m.x"), "there is no variable m.x"},
		{inFunction("eval n + 1.5"), "+: operands of types int64 and float32: cast one"},
		{inFunction("eval n < m < n"), "comparisons are not chained"},
		{inFunction("eval n && p"), "&&: operands of types int64 and bool: cast one"},
		{inFunction("eval !n"), "not of type int64: want bool"},
		{inFunction("eval p + p"), "+ of type bool"},
		{inFunction("eval 2147483648"), "2147483648 is out of range for int32: write int64(2147483648)"},
		{inFunction("eval 12abc"), "12abc is not a constant of type int32"},
		{inFunction("eval 1e39"), "1e39 is too large for a 32-bit float"},
		{inFunction("eval int8(128)"), "constant 128 is not within int8"},
		{inFunction("eval uint8(-1)"), "-1 is not a constant of type uint8"},
		{inFunction("eval uint64(18446744073709551616)"), "18446744073709551616 is not a constant of type uint64"},
		{inFunction("eval int32(nan)"), "nan is not a constant of type int32"},
		{inFunction("eval int32(1.5)"), "1.5 is not a constant of type int32"},
		{inFunction("eval bool(2)"), "constant 2 is not within bool"},
		{inFunction("eval nan(0x1)"), "want the 64 bits of a NaN"},
		{inFunction("eval -nan"), "nan has no sign"},
		{inFunction("eval epx(1.0)"),
			"there is no intrinsic epx; did you mean exp?; to call a C function, write extern epx(…)"},
		{inFunction(`eval intrin $"min"(1, 2)`), "there is no intrinsic min"},
		{inFunction("eval exp(1)"), "intrinsic exp takes floats, found int32"},
		{inFunction("eval exp(1.0, 2.0)"), "intrinsic exp takes 1 arguments, found 2"},
		{inFunction(`extern $""()`), "a call has no name"},
		{inFunction("eval cast(int32x4, n)"), "cast of int64 to int32x4: the lanes differ"},
		{inFunction("eval select(n, 1, 2)"), "select by type int64: want bool"},
		{inFunction("eval ramp(0, 1, 0)"), "ramp: 0 lanes: want 1 to 1024"},
		{inFunction("eval ramp(p, p, 2)"), "ramp of type bool"},
		{inFunction("eval ramp(0, 1, x)"), "want the number of lanes as an integer"},
		{inFunction("eval broadcast(broadcast(1, 2), 2)"), "broadcast of type int32x2: want one lane"},
		{inFunction("eval shuffle([], [0])"), "shuffle of no vectors"},
		{inFunction("eval shuffle([1, n], [0])"), "shuffle: vector 1 is of type int64: want lanes of type int32"},
		{inFunction("eval shuffle([1], [1])"), "shuffle: index 1: the vectors have 1 lanes"},
		{inFunction("eval shuffle([1], [])"), "shuffle: 0 lanes"},
		{inFunction("let x: int32 = n"), "variable x is of type int32, and its value of type int64"},
		{inFunction("let x = 1 in x"), "a let with in is an expression: write eval before it"},
		{inFunction("eval let x = 1"), `want "in" after the value`},
		{inFunction("{ let x = 1 }"), `found "{", want a statement`},
		{inFunction("if p { let x = 1 }\neval x"), "line 4, column 6: there is no variable x"},
		{inFunction("if n {}"), "if takes a bool, found type int64: compare it"},
		{inFunction("while 1 {}"), "while takes a bool"},
		{inFunction("assert n, E, \"\""), "assert takes a bool"},
		{inFunction("assert p, \"\""), "want the name of a kind of error, such as ValueError"},
		{inFunction("for i in n {}"), `want "range" after in`},
		{inFunction("for i in range(1.5) {}"), "variable i of type float32 in a range of types"},
		{inFunction("for i in range(m, count=n) {}"), "in a range of types int32 and int64"},
		{inFunction("for i: int8 in range(n) {}"), "variable i of type int8 in a range of types int8 and int64"},
		{inFunction("for i in range(broadcast(1, 4)) {}"), "want one scalar integer type"},
		{inFunction("for i in range(0, 4) {}"),
			`found "4", want "count" and the number of values after the first value of a range`},
		{inFunction("for i in range(4), on 3 {}"), `found "on", want thread or attrs`},
		{inFunction("alloc B: float32[4], memory 3"), "want data, strides, offset, scope, align"},
		{inFunction("alloc B: float32[4], param a"), "want data, strides"},
		{inFunction("alloc B: float32[4], data q"), "there is no variable q"},
		{inFunction("alloc B: float32[4], data q: int32"), "the address of buffer B is of type int32: want handle"},
		{inFunction("buffer B: float32[4], param m"), "m is of type int32: only a handle can have a buffer"},
		{inFunction("buffer B: float32[4], param a"), "a has buffer A already"},
		{inFunction("buffer B, param a"), "there is no buffer B"},
		{inFunction("attr \"k\" for = 1"), "want var, buffer, iter"},
		{inFunction("attr \"k\" iter x in range(3) = 1"), "there is no variable x"},
		{inFunction("attr \"k\" iter x: int32, kind dat = 1"), "want the kind of an axis: [data reduce thread opaque]"},
		{inFunction("attr \"k\""), `found "}", want var, buffer, iter`},
	} {
		m, err := Parse(c.text)
		require.Nil(t, m, c.text)
		var wrong *ParseError
		require.ErrorAs(t, err, &wrong, c.text)
		require.Contains(t, err.Error(), c.want, c.text)
		require.True(t, strings.HasPrefix(err.Error(), "tir: parse: line "), err)
	}
}

// What is written by hand need not be what is printed.
func TestParse_Lenient(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"eval n + 1", "eval n + int64(1)"},
		{"eval 1 + n", "eval int64(1) + n"},
		{"A[0, 0] = 1", "A[0, 0] = 1.0"},
		{"A[n, ramp(0, 1, 4)] = 0", "A[n, ramp(0, 1, 4)] = broadcast(0.0, 4)"},
		{"eval -m", "eval 0 - m"},
		{"eval - 5", "eval -5"},
		{"eval 0x7fffffff", "eval 2147483647"},
		{"eval i64(5)", "eval int64(5)"},
		{"eval f32(n)", "eval cast(float32, n)"},
		{"eval uint64(0xffffffffffffffff)", "eval uint64(18446744073709551615)"},
		{"eval int32(010)", "eval 10"},
		{"eval float32(1)", "eval 1.0"},
		{"eval float32x4(1)", "eval broadcast(1.0, 4)"},
		{"eval ((n))", "eval n"},
		{"eval m - (m - m) - m", "eval m - (m - m) - m"},
		{"eval (m * m) + (m / m)", "eval m * m + m / m"},
		{"eval (m + m) * m", "eval (m + m) * m"},
		{"eval (p && p) || p", "eval p && p || p"},
		{"eval p && (p || p)", "eval p && (p || p)"},
		{"eval (m < m) == p", "eval (m < m) == p"},
		{"eval !(m < m)", "eval !(m < m)"},
		{"eval !p == p", "eval !p == p"},
		{"eval (let x = 1 in x) + 1", "eval (let x = 1 in x) + 1"},
		{"eval select(p, m, 1.5)", ""},
		{"for i: int64 in range(10) {}", "for i in range(int64(10)) {}"},
		{"for i: int64 in range(1, count=3) {}", "for i in range(int64(1), count=int64(3)) {}"},
		{"for i in range(0, count=n) {}", "for i in range(n) {}"},
		{"for i in range(1, count=n) {}", "for i in range(int64(1), count=n) {}"},
		{"for i in range(3) {} for i in range(4) {}", "for i in range(3) {}\n  for i_1 in range(4) {}"},
		{"let m = m + 1; eval m", "let m_1 = m + 1\n  eval m_1"},
		{"let x = 1 { eval x } eval m", "let x = 1 {\n    eval x\n  }\n  eval m"},
		{"let x: int64 = 1; eval x", "let x = int64(1)\n  eval x"},
		{"if p {} else { if p {} }", "if p {} else if p {}"},
		{"seq { eval m }", "seq {\n    eval m\n  }"},
		{"alloc data: int8[4]\ndata[0] = 1", "alloc data: int8[4]\n  data[0] = int8(1)"},
		{"extern puts(\"x\"); packed my.fn[int32](m)", "extern puts(\"x\")\n  packed my.fn[int32](m)"},
		{"eval exp(1.0) // a comment", "exp(1.0)"},
		{"eval clz[int64](n)", "clz(n)"},
		{"attr \"k\" = none\n# a comment", "attr \"k\" = none"},
		{"attr \"target\" = target.x", ""},
	} {
		m, err := Parse(inFunction(c.text))
		if c.want == "" {
			require.Error(t, err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		want := "func f(a: handle, n: int64, m: int32, p: bool) {\n  buffer A: float32[n, 4], param a\n  " + c.want + "\n}\n"
		require.Equal(t, want, m.String(), c.text)
	}
}

// Nothing that is written makes the parser use up the stack, or time that grows faster than the text.
func TestParse_Deep(t *testing.T) {
	const size = 1 << 20
	times := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"parentheses": inFunction("eval " + times("(")),
		"nots":        inFunction("eval " + times("!")),
		"minuses":     inFunction("eval " + times("- ")),
		"sum":         inFunction("eval m" + times("+m")),
		"uneven sum":  inFunction("eval int8(1)" + times("+m")),
		"calls":       inFunction("eval " + times("min(m,")),
		"calls left":  inFunction("eval " + times("cast(int32,")),
		"loads":       inFunction("eval " + times("A[")),
		"let values":  inFunction("eval " + times("let x = ")),
		"let bodies":  inFunction("eval " + times("let x = m in ")),
		"lets":        inFunction(times("let x = m\n")),
		"allocs":      inFunction(times("alloc B: int8[1]\n")),
		"attributes":  inFunction(times("attr \"\" = none\n")),
		"loops":       inFunction(times("for i in range(m) {")),
		"else ifs":    inFunction("if p {}" + times(" else if p {}")),
		"sequences":   inFunction(times("seq {")),
		"target":      "attrs {\"t\": target " + times("{\"a\":") + "}",
	} {
		_, err := Parse(text)
		var wrong *ParseError
		require.ErrorAs(t, err, &wrong, name)
		if name != "target" {
			require.Contains(t, err.Error(), "are nested more than", name)
		} else {
			require.Contains(t, err.Error(), "the target is not JSON", name)
		}
	}
}

// What is as deep as it may be is read and written in both forms.
func TestRoundTrip_Deepest(t *testing.T) {
	sum := "m" + strings.Repeat(" + m", form.MaxExprDepth-1)
	right := strings.Repeat("m + (", form.MaxExprDepth-2) + "m + m" + strings.Repeat(")", form.MaxExprDepth-2)
	lets := strings.Repeat("let x = m in ", form.MaxExprDepth-1) + "m"
	calls := strings.Repeat("popcount(", form.MaxExprDepth-1) + "m" + strings.Repeat(")", form.MaxExprDepth-1)
	nots := strings.Repeat("!(p && ", (form.MaxExprDepth-1)/2) + "p" + strings.Repeat(")", (form.MaxExprDepth-1)/2)
	blocks := form.MaxStmtDepth - 2
	loops := strings.Repeat("for i in range(m) {\n eval m\n", blocks) + "eval " + calls + strings.Repeat("}\n", blocks)
	elses := "if p {}" + strings.Repeat(" else if p {}", blocks-1)
	flat := strings.Repeat("let x = m\n", blocks) + "eval " + sum
	for name, body := range map[string]string{"sum": "eval " + sum, "right": "eval " + right, "lets": "eval " + lets,
		"calls": "eval " + calls, "nots": "eval " + nots,
		"loops": loops, "elses": elses, "flat": flat} {
		m, err := Parse(inFunction(body))
		require.NoError(t, err, name)
		roundTrip(t, name, m)
	}
	_, err := Parse(inFunction("eval " + sum + " + m"))
	require.ErrorContains(t, err, fmt.Sprintf("nested more than %d deep", form.MaxExprDepth))
}

func TestParseExpr(t *testing.T) {
	n, b := tir.NewVar("n", tir.Int32), tir.NewBuffer("n", tir.Float32, tir.I32(4))
	e, err := ParseExpr("n[n] + 1", Scope{Vars: []*tir.Var{nil, n}, Buffers: []*tir.Buffer{nil, b}})
	require.NoError(t, err)
	load := e.(*tir.Binary).A.(*tir.BufferLoad)
	require.Same(t, b, load.Buffer)
	require.Same(t, n, load.Indices[0])
	_, err = ParseExpr("n n", Scope{Vars: []*tir.Var{n}})
	require.ErrorContains(t, err, `line 1, column 3: found "n" after an expression, want the end of the text`)
	_, err = ParseExpr("", Scope{})
	require.ErrorContains(t, err, "found the end of the text, want an expression")
	free, err := ParseExpr("m + n", Scope{Vars: []*tir.Var{n}, Free: func(name string) *tir.Var {
		return tir.NewVar(name, tir.Int32)
	}})
	require.NoError(t, err)
	require.Equal(t, "m + n", Print(free))
	require.Same(t, n, free.(*tir.Binary).B)
	_, err = ParseExpr("cuont", Scope{Vars: []*tir.Var{n, tir.NewVar("count", tir.Int32)}})
	require.ErrorContains(t, err, "there is no variable cuont; did you mean count?")
}

package json

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
	"tvmgo/tir/text"
)

const jsonExample = `{"tir":1,` +
	`"attrs":[{"key":"a","int":1},{"key":"t","target":{"kind":"c","tag":"","keys":["cpu"]}}],` +
	`"vars":[{"name":"A","type":"handle"},{"name":"i","type":"int32"},{"name":"A","type":"handle"}],` +
	`"buffers":[{"name":"A","data":2,"type":"float32","shape":[{"int":8,"type":"int32"}]}],` +
	`"functions":[{"name":"f","params":[0],"buffers":[{"param":0,"buffer":0}],"result":"void","body":` +
	`[{"for":1,"kind":"parallel","min":{"int":0,"type":"int32"},"extent":{"int":8,"type":"int32"},"body":` +
	`{"store":0,"indices":[{"var":1}],"value":` +
	`{"op":"*","a":{"load":0,"indices":[{"var":1}]},"b":{"float":0.5,"type":"float32"}}}},` +
	`{"assert":{"int":1,"type":"bool"},"kind":"E","message":"m"}]}]}`

func TestJSON_Form(t *testing.T) {
	m := must.Get(Unmarshal([]byte(jsonExample)))(t)
	require.Equal(t, jsonExample, string(must.Get(Marshal(m))(t)))
	require.Equal(t, `attrs {"a": 1, "t": target {"kind":"c","tag":"","keys":["cpu"]}}

func f(A: handle) {
  buffer A: float32[8], param A
  parallel i in range(8) {
    A[i] = A[i] * 0.5
  }
  assert true, E, "m"
}
`, text.Print(m))
}

// What two functions share stays shared.
func TestJSON_Identity(t *testing.T) {
	n, b := tir.NewVar("n", tir.Int32), tir.NewBuffer("B", tir.Int32, tir.I32(4))
	f := func(name string) *tir.PrimFunc {
		return &tir.PrimFunc{Name: name, Params: []*tir.Var{n, b.Data}, Result: tir.Void, Body: &tir.BufferStore{Buffer: b,
			Value: n, Indices: []tir.Expr{n}}}
	}
	data := must.Get(Marshal(&tir.IRModule{Funcs: []*tir.PrimFunc{f("f"), f("g")}}))(t)
	m := must.Get(Unmarshal(data))(t)
	x, y := m.Funcs[0].Body.(*tir.BufferStore), m.Funcs[1].Body.(*tir.BufferStore)
	require.Same(t, x.Buffer, y.Buffer)
	require.Same(t, m.Funcs[0].Params[0], y.Value)
	require.Same(t, m.Funcs[0].Params[1], x.Buffer.Data)
}

func TestJSON_ReadErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{jsonExample, `[]`, "$: found a list, want an object"},
		{jsonExample, `null`, "$: found null, want an object"},
		{`"tir":1`, `"tir":2`, "$.tir: found number 2: this package reads version 1"},
		{`"tir":1,`, ``, `$: field "tir" is missing`},
		{`"tir":1,`, `"tir":1,"tri":1,`, "$.tri: unknown field: want one of"},
		{`"tir":1,`, `"tir":1,"vars":[],`, "$.vars: the field occurs twice"},
		{`"int":1}`, `"int":1.5}`, "$.attrs[0].int: found number 1.5, want an int64"},
		{`"int":1}`, `"bool":1}`, "$.attrs[0].bool: found number 1, want true or false"},
		{`"int":1}`, `"float":"x"}`, `$.attrs[0].float: found text "x", want a number`},
		{`"int":1}`, `"float":"nan:0x1"}`, `$.attrs[0].float: found text`},
		{`"int":1}`, `"float":1e999}`, `$.attrs[0].float: 1e999 is too large for a 64-bit float`},
		{`"int":1}`, `"int":1,"bool":true}`, `$.attrs[0].bool: unknown field`},
		{`"int":1}`, `"x":1}`, `$.attrs[0]: attribute "a" has no int, float, bool, text or target`},
		{`"int":1}`, `"text":{"base64":"="}}`, `$.attrs[0].text: illegal base64`},
		{`"key":"t"`, `"key":"a"`, `$.attrs[1]: attribute "a" occurs twice`},
		{`"kind":"c"`, `"kind":"cc"`, `$.attrs[1].target: target`},
		{`"type":"handle"}`, `"type":"handles"}`, `$.vars[0].type: parse data type "handles"`},
		{`"type":"handle"}`, `"type":"complex64"}`, `$.vars[0].type: `},
		{`"type":"handle"}`, `"type":""}`, `$.vars[0].type: found text "", want the name of a type`},
		{`"name":"i"`, `"name":5`, `$.vars[1].name: found number 5, want text`},
		{`"data":2`, `"data":3`, `$.buffers[0].data: found number 3, want an integer from 0 to 2`},
		{`"shape":[`, `"align":-1,"shape":[`, `$.buffers[0].align: found number -1, want`},
		{`"shape":[`, `"shape":5,"x":[`, `$.buffers[0].shape: found number 5, want a list`},
		{`"name":"f"`, `"name":""`, `$.functions[0]: function name "" is empty or used twice`},
		{`"params":[0]`, `"params":[0.5]`, `$.functions[0].params[0]: found number 0.5`},
		{`{"param":0,"buffer":0}`, `{"param":0,"buffer":0},{"param":0,"buffer":0}`,
			`$.functions[0].buffers[1]: parameter A has a buffer already`},
		{`"for":1`, `"far":1`, `$.functions[0].body[0]: found none of the fields`},
		{`"for":1`, `"for":1,"let":1`, `$.functions[0].body[0]: has both "for" and "let"`},
		{`"for":1`, `"for":0`, `$.functions[0].body[0]: variable A of type handle in a range of types int32 and int32`},
		{`"kind":"parallel"`, `"kind":"par"`, `$.functions[0].body[0].kind: unknown kind of loop "par"`},
		{`"store":0`, `"store":1`, `$.functions[0].body[0].body.store: found number 1, want an integer from 0 to 0`},
		{`"store":0,"indices":[{"var":1}]`, `"store":0,"indices":[]`,
			`$.functions[0].body[0].body: buffer A has 1 dimensions, and 0 indices`},
		{`{"float":0.5,"type":"float32"}`, `{"float":0.5,"type":"float64"}`,
			`$.functions[0].body[0].body.value: operands of types float32 and float64: cast one`},
		{`{"float":0.5,"type":"float32"}`, `{"int":1,"type":"int32"}`,
			`$.functions[0].body[0].body.value: operands of types float32 and int32`},
		{`{"float":0.5,"type":"float32"}`, `{"text":"x"}`, `$.functions[0].body[0].body.value: *: `},
		{`"op":"*"`, `"op":"**"`, `$.functions[0].body[0].body.value.op: unknown operation "**"`},
		{`"op":"*"`, `"op":"=="`, `$.functions[0].body[0].body: a value of type bool is stored in buffer A as float32`},
		{`{"int":1,"type":"bool"}`, `{"int":2,"type":"bool"}`,
			`$.functions[0].body[1].assert: constant 2 is not within bool`},
		{`{"int":1,"type":"bool"}`, `{"int":2,"type":"int8"}`, `$.functions[0].body[1].assert: type int8: want bool`},
		{`{"int":1,"type":"bool"}`, `{"int":1,"type":"float32"}`,
			`$.functions[0].body[1].assert.int: type float32 has no such constants`},
		{`{"int":1,"type":"bool"}`, `{"not":{"int":1,"type":"int8"}}`,
			`$.functions[0].body[1].assert: not of type int8: want bool`},
		{`{"int":1,"type":"bool"}`, `{"call":"foo","kind":"intrin","type":"bool","args":[]}`,
			`$.functions[0].body[1].assert: there is no intrinsic "foo"`},
		{`{"int":1,"type":"bool"}`, `{"call":"foo","kind":"x","type":"bool","args":[]}`,
			`$.functions[0].body[1].assert.kind: unknown kind of call "x"`},
		{`{"int":1,"type":"bool"}`, `{"select":[{"int":1,"type":"bool"}]}`,
			`$.functions[0].body[1].assert: select of 1 expressions`},
		{`{"int":1,"type":"bool"}`, `{"let":1,"value":{"int":1,"type":"bool"},"in":{"var":1}}`,
			`$.functions[0].body[1].assert: variable i is of type int32, and its value of type bool`},
		{`{"int":1,"type":"bool"}`, `{"broadcast":{"int":1,"type":"bool"},"lanes":1025}`,
			`$.functions[0].body[1].assert.lanes: found number 1025`},
		{`{"int":1,"type":"bool"}`, `{"shuffle":[{"int":1,"type":"bool"}],"indices":[1]}`,
			`$.functions[0].body[1].assert: shuffle: index 1: the vectors have 1 lanes`},
		{`{"int":1,"type":"bool"}`, `{}`, `$.functions[0].body[1].assert: found none of the fields`},
	} {
		data := strings.Replace(jsonExample, c.old, c.new, 1)
		require.NotEqual(t, jsonExample, data, c.old)
		m, err := Unmarshal([]byte(data))
		require.ErrorContains(t, err, "tir: read JSON: "+c.want, c.new)
		require.Nil(t, m)
	}
	require.ErrorContains(t, must.Fail(Unmarshal([]byte(jsonExample+"1"))), "$: more text follows the end")
	for n := range len(jsonExample) { // cut off anywhere
		require.Error(t, must.Fail(Unmarshal([]byte(jsonExample[:n]))))
	}
}

func TestJSON_Deep(t *testing.T) {
	deep := func(old, before, inner, after string, n int) error {
		_, err := Unmarshal([]byte(strings.Replace(jsonExample, old, strings.Repeat(before, n)+inner+strings.Repeat(after,
			n), 1)))
		return err
	}
	const bool1 = `{"int":1,"type":"bool"}`
	const all = `{"assert":{"int":1,"type":"bool"},"kind":"E","message":"m"}`
	require.NoError(t, deep(bool1, `{"not":`, bool1, `}`, form.MaxExprDepth-1))
	require.ErrorContains(t, deep(bool1, `{"not":`, bool1, `}`, form.MaxExprDepth),
		"expressions are nested more than 1000 deep")
	require.ErrorContains(t, deep(all, `{"while":{"int":1,"type":"bool"},"body":`, `[]`, `}`, form.MaxStmtDepth),
		"statements are nested more than 3500 deep")
	require.ErrorContains(t, deep(all, `[`, ``, `]`, 1<<20), "lists and objects are nested more than 10000 deep")
	require.ErrorContains(t, deep(bool1, `{"a":`, `1`, `}`, 1<<20), // the position is shortened
		"$.functions[0].body[1].assert.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a….a.a.a.a.a.a.a.a.a.a: lists and objects are")
}

func TestJSON_WriteErrors(t *testing.T) {
	for _, c := range []struct {
		body tir.Stmt
		want string
	}{
		{nil, "function f: a statement is nil"},
		{&tir.Evaluate{Value: &tir.Bad{Err: errors.New("oh")}}, "function f: an expression could not be made: oh"},
		{&tir.Evaluate{Value: &tir.Reduce{}}, "function f: a finished module contains no *tir.Reduce: lower it first"},
		{&tir.Evaluate{Value: &tir.ProducerLoad{}}, "a finished module contains no *tir.ProducerLoad"},
		{&tir.Evaluate{Value: &tir.Binary{Op: 99, A: tir.I32(1), B: tir.I32(1)}}, "tir.BinaryOp(99) does not exist"},
		{&tir.Evaluate{Value: &tir.IntImm{Type: tir.Type{Code: 2, Bits: 7, Lanes: 1}, Value: 1}},
			"expressions cannot have type float7"},
		{&tir.Evaluate{Value: &tir.BufferLoad{}}, "a buffer is nil"},
		{&tir.AttrStmt{Key: "k", Node: 3, Body: &tir.Seq{}}, "an attribute refers to a int: want"},
		{&tir.AttrStmt{Key: "k", Node: (*tir.IterVar)(nil), Body: &tir.Seq{}}, "an axis is nil"},
		{&tir.For{Var: nil, Min: tir.I32(0), Extent: tir.I32(1), Body: &tir.Seq{}}, "a variable is nil"},
		{&tir.For{Kind: 77, Var: tir.NewVar("i", tir.Int32), Min: tir.I32(0), Extent: tir.I32(1), Body: &tir.Seq{}},
			"tir.ForKind(77) does not exist"},
		{&tir.Alloc{Buffer: &tir.Buffer{Name: "B", DType: tir.Int8}, Body: &tir.Seq{}}, "buffer B: a variable is nil"},
	} {
		_, err := Marshal(&tir.IRModule{Funcs: []*tir.PrimFunc{{Name: "f", Result: tir.Void, Body: c.body}}})
		require.ErrorContains(t, err, c.want)
	}
	_, err := Marshal(&tir.IRModule{Attrs: map[string]any{"a": 3}})
	require.ErrorContains(t, err, `attributes of the module: attribute "a" is a int: want int64`)
	require.ErrorContains(t, must.Fail(Marshal(&tir.IRModule{Funcs: []*tir.PrimFunc{nil}})), "a function is nil")
}

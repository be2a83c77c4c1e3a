package vmcode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

func TestSignatures_OfAModel(t *testing.T) {
	payload, layout := artifact(t)
	e := must.Get(vmcode.ParsePayload(payload, layout))(t)
	s := e.Signatures()
	require.Len(t, s, len(e.Functions))
	require.Equal(t, vmcode.Signature{
		Parameters: map[int]vmcode.Type{0: {Kind: vmcode.TensorType, Text: `R.Tensor((batch, 16), dtype="float32")`,
			DType: dlpack.Float32, Rank: 2, Dims: []string{"batch", "16"}}},
		Result: vmcode.Type{Kind: vmcode.TensorType, Text: `R.Tensor((batch, 10), dtype="float32")`,
			DType: dlpack.Float32, Rank: 2, Dims: []string{"batch", "10"}},
	}, s[0])
	require.Equal(t, vmcode.Signature{}, s[1])
}

// describe prints a type without its text.
func describe(v vmcode.Type) string {
	text := []string{"any", "tensor", "shape", "tuple", "number", "function"}[v.Kind]
	if v.DType != (dlpack.DataType{}) {
		text += " " + v.DType.String()
	}
	if v.Rank >= 0 {
		text += fmt.Sprintf(" rank %d", v.Rank)
	}
	if v.Dims != nil {
		text += fmt.Sprintf(" %q", v.Dims)
	}
	if d := v.Device; d.Target != "" {
		text += fmt.Sprintf(" on %s %d %s", d.Target, d.Index, d.Scope)
	}
	for _, f := range v.Fields {
		text += " <" + describe(f) + ">"
	}
	return text
}

func TestSignatures_OfAnnotations(t *testing.T) {
	result := func(annotation string) vmcode.Type {
		e := program()
		e.Constants[3].Text = "ErrorContext(fn=main, loc=return, annotation=" + annotation + ") "
		r := e.Signatures()[0].Result
		require.Equal(t, annotation, r.Text)
		return r
	}
	for annotation, want := range map[string]string{
		`R.Tensor`:                                            `tensor`,
		`R.Tensor((), dtype="bool")`:                          `tensor bool rank 0 []`,
		`R.Tensor((n * 2,), dtype="float16")`:                 `tensor float16 rank 1 ["n * 2"]`,
		`R.Tensor(dtype="float32", ndim=2)`:                   `tensor float32 rank 2`,
		`R.Tensor((T.int64(2), n), vdevice="a:0,1")`:          `tensor rank 2 ["2" "n"] on a -1 `,
		`R.Tensor((T.int64(2) * n, n * T.int64(2)))`:          `tensor rank 2 ["T.int64(2) * n" "n * T.int64(2)"]`,
		`R.Tensor((2,), vdevice="a),(1", ndim=3)`:             `tensor rank 3 ["2"] on a),(1 -1 `,
		`R.Tensor(vdevice="opencl:-1:global")`:                `tensor on opencl -1 global`,
		`R.Tensor(vdevice="llvm:1:global")`:                   `tensor on llvm 1 global`,
		`R.Tensor(vdevice=":1:global")`:                       `tensor`,
		`R.Tensor((T.max(a, b) + T.int64(3),))`:               `tensor rank 1 ["T.max(a, b) + T.int64(3)"]`,
		`R.Shape([n, m])`:                                     `shape rank 2 ["n" "m"]`,
		`R.Shape(ndim=3)`:                                     `shape rank 3`,
		`T.int64`:                                             `number int64`,
		`R.Prim("int64")`:                                     `number int64`,
		`R.Object`:                                            `any`,
		`T.what`:                                              `any`,
		`R.Tensor((n`:                                         `any`,
		`R.Tensor(()`:                                         `tensor`,
		`R.Callable((R.Tensor((2,)),), R.Tensor((2,)), True)`: `function`,
		`T.Tuple(R.Tensor((n,), dtype="int8"), R.Tuple(T.bool, R.Shape([n, m])))`: `tuple <tensor int8 rank 1 ["n"]> ` +
			`<tuple <number bool> <shape rank 2 ["n" "m"]>>`,
	} {
		require.Equal(t, want, describe(result(annotation)), annotation)
	}
	deep := strings.Repeat("R.Tuple(", 100_000) + strings.Repeat(")", 100_000)
	depth := 0
	for r := result(deep); r.Kind == vmcode.TupleType && len(r.Fields) > 0; r = r.Fields[0] {
		depth++
	}
	require.Equal(t, 17, depth)
}

func TestSignatures_OfOtherTexts(t *testing.T) {
	for _, text := range []string{
		"ErrorContext(fn=main, loc=param[2], param=x, annotation=R.Object) ", // has two
		"ErrorContext(fn=main, loc=param[-1], param=x, annotation=R.Object) ",
		"ErrorContext(fn=main, loc=param[18446744073709551615], param=x, annotation=R.Object) ",
		"ErrorContext(fn=other, loc=return, annotation=R.Object) ",
		"ErrorContext(fn=vm.builtin.copy, loc=return, annotation=R.Object) ",
		"ErrorContext(match_cast, ty=R.Object) ",
		"ErrorContext(fn=main, loc=return, annotation=R.Object",
	} {
		e := program()
		e.Constants[3].Text = text
		require.Equal(t, make([]vmcode.Signature, 4), e.Signatures(), text)
	}
	e := program()
	e.Constants[3].Text = "ErrorContext(fn=compiled, loc=param[0], param=z, annotation=R.Object) "
	require.Equal(t, map[int]vmcode.Type{0: {Text: "R.Object", Rank: -1}}, e.Signatures()[2].Parameters)
}

func TestSignatures_ResultNames(t *testing.T) {
	const one, two = "R.Tensor", "R.Tuple(R.Tensor, R.Object)"
	for _, c := range []struct {
		annotation string
		text       string
		want       []string // of the result and its fields
	}{
		{one, vmcode.ResultNames("main", []string{`a"b, c`}), []string{`a"b, c`}},
		{two, vmcode.ResultNames("main", []string{"y", "label"}), []string{"", "y", "label"}},
		{one, vmcode.ResultNames("main", []string{"y", "label"}), []string{""}}, // other numbers
		{two, vmcode.ResultNames("main", []string{"y"}), []string{"", "", ""}},
		{one, vmcode.ResultNames("other", []string{"y"}), []string{""}},
		{one, "tvmgo.results ", []string{""}},
		{one, `tvmgo.results {"function":"main","names":[1]}`, []string{""}},
	} {
		e := program()
		e.Constants[3].Text = "ErrorContext(fn=main, loc=return, annotation=" + c.annotation + ") "
		e.Constants = append([]vmcode.Constant{{Kind: vmcode.StringConstant, Text: c.text}}, e.Constants...)
		r := e.Signatures()[0].Result
		got := []string{r.Name}
		for _, f := range r.Fields {
			got = append(got, f.Name)
		}
		require.Equal(t, c.want, got, c.text)
	}
}

package arguments

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

func TestParseArg(t *testing.T) {
	for text, want := range map[string]any{
		"i:3": int64(3), "i:-0x10": int64(-16), "i:-9223372036854775808": int64(math.MinInt64), "f:0.5": 0.5, "f:1e3": 1000.0,
		"f:inf": math.Inf(1),
		"s:":    "", "s:a:b": "a:b",
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseLike(t *testing.T) {
	for text, want := range map[string]*Array{
		"float32[8,8]":  {DType: dlpack.Float32, Shape: []int64{8, 8}},
		"int8[ 2 , 3 ]": {DType: dlpack.Int8, Shape: []int64{2, 3}},
		"bool[0]":       {DType: dlpack.Bool, Shape: []int64{0}},
		"float16[]":     {DType: dlpack.Float16, Shape: []int64{}},
	} {
		got, err := ParseLike(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

// An output is inserted at its o:N; outputs without one follow all arguments.
func TestArrange(t *testing.T) {
	a, b, c := &Array{}, &Array{}, &Array{}
	outputs := []*Array{a, b, c}
	for _, test := range []struct{ args, want []any }{
		{nil, []any{a, b, c}},
		{[]any{int64(1), "x"}, []any{int64(1), "x", a, b, c}},
		{[]any{Output(1), int64(1), Output(0), 0.5}, []any{b, int64(1), a, 0.5, c}},
		{[]any{Output(2), Output(1), Output(0)}, []any{c, b, a}},
	} {
		got := must.Get(Arrange(test.args, outputs))(t)
		require.Len(t, got, len(test.want))
		for i := range got {
			require.True(t, got[i] == test.want[i], "%v: %d", test.args, i)
		}
	}
	require.EqualError(t, must.Fail(Arrange([]any{Output(3)}, outputs)), "--in o:4: there are 3 --out")
	require.EqualError(t, must.Fail(Arrange([]any{Output(1), Output(1)}, outputs)),
		"--in o:2: the output is used twice")
}

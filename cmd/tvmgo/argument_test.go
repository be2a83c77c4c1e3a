package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestParseArg(t *testing.T) {
	for text, want := range map[string]any{
		"i:3": int64(3), "i:-0x10": int64(-16), "i:-9223372036854775808": int64(math.MinInt64), "f:0.5": 0.5, "f:1e3": 1000.0,
		"f:inf": math.Inf(1),
		"s:":    "", "s:a:b": "a:b",
	} {
		got, err := parseArg(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseLike(t *testing.T) {
	for text, want := range map[string]*array{
		"float32[8,8]":  {dtype: dlpack.Float32, shape: []int64{8, 8}},
		"int8[ 2 , 3 ]": {dtype: dlpack.Int8, shape: []int64{2, 3}},
		"bool[0]":       {dtype: dlpack.Bool, shape: []int64{0}},
		"float16[]":     {dtype: dlpack.Float16, shape: []int64{}},
	} {
		got, err := parseLike(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

// Each kind of argument reaches the function unchanged and in order, with outputs last. Written elements and the result
// are returned.
func TestCall_ArgumentsAndResult(t *testing.T) {
	fn, err := runtime.NewFunction(func(args ...any) (any, error) {
		if len(args) != 5 {
			return nil, runtime.ErrInvalidArgument
		}
		out := args[4].(*runtime.Tensor)
		return out.DType().String() + " " + args[2].(string), runtime.CopyFrom(out, []float64{float64(args[0].(int64)) +
			args[1].(float64)})
	})
	require.NoError(t, err)
	defer fn.Close()
	c := &call{fn: fn, dev: runtime.CPU}
	defer c.close()
	in := &array{dtype: dlpack.Float32, shape: []int64{1}, data: []byte{0, 0, 0, 0}}
	out := &array{dtype: dlpack.Float64, shape: []int64{1}}
	require.NoError(t, c.addArguments([]any{int64(3), 0.5, "text", in, out}))
	require.Equal(t, `"float64 text"`, must.Get(c.once(context.Background()))(t))
	var written bytes.Buffer
	require.NoError(t, c.write(&written, out))
	require.Equal(t, 3.5, math.Float64frombits(binary.LittleEndian.Uint64(written.Bytes()[written.Len()-8:])))
}

// An output is inserted at its o:N; outputs without one follow all arguments.
func TestArrange(t *testing.T) {
	a, b, c := &array{}, &array{}, &array{}
	outputs := []*array{a, b, c}
	for _, test := range []struct{ args, want []any }{
		{nil, []any{a, b, c}},
		{[]any{int64(1), "x"}, []any{int64(1), "x", a, b, c}},
		{[]any{outputIndex(1), int64(1), outputIndex(0), 0.5}, []any{b, int64(1), a, 0.5, c}},
		{[]any{outputIndex(2), outputIndex(1), outputIndex(0)}, []any{c, b, a}},
	} {
		got := must.Get(arrange(test.args, outputs))(t)
		require.Len(t, got, len(test.want))
		for i := range got {
			require.True(t, got[i] == test.want[i], "%v: %d", test.args, i)
		}
	}
	require.EqualError(t, must.Fail(arrange([]any{outputIndex(3)}, outputs)), "--in o:4: there are 3 --out")
	require.EqualError(t, must.Fail(arrange([]any{outputIndex(1), outputIndex(1)}, outputs)),
		"--in o:2: the output is used twice")
}

// Functions of the classic generation take booleans with another type.
func TestCall_ClassicBool(t *testing.T) {
	for classic, want := range map[bool]dlpack.DataType{true: dlpack.ClassicBool, false: dlpack.Bool} {
		c := &call{dev: runtime.CPU, classic: func() bool { return classic }}
		require.NoError(t, c.addArguments([]any{&array{dtype: dlpack.Bool, shape: []int64{2}, data: []byte{1, 0}}}))
		require.Equal(t, want, c.tensors[0].DType())
		c.close()
	}
}

func TestTimes(t *testing.T) {
	s := &times{seconds: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 100}}
	require.Equal(t, 5.5, s.percentile(50))
	require.Equal(t, 9.0, s.percentile(90))
	require.Equal(t, 100.0, s.percentile(99))
	require.Equal(t, 14.5, s.mean())
	one := &times{seconds: []float64{2}}
	require.Equal(t, 2.0, one.percentile(50))
	require.Equal(t, 2.0, one.percentile(99))
	for seconds, want := range map[float64]string{1.5: "1.50 s", 0.0123: "12.3 ms", 123e-6: "123 µs", 0.812e-6: "812 ns",
		3.8e-9: "3.80 ns"} {
		require.Equal(t, want, duration(seconds))
	}
}

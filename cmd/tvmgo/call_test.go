//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/stats"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

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
	in := &arguments.Array{DType: dlpack.Float32, Shape: []int64{1}, Data: []byte{0, 0, 0, 0}}
	out := &arguments.Array{DType: dlpack.Float64, Shape: []int64{1}}
	require.NoError(t, c.addArguments([]any{int64(3), 0.5, "text", in, out}))
	require.Equal(t, `"float64 text"`, must.Get(c.once(context.Background()))(t))
	var written bytes.Buffer
	require.NoError(t, c.write(&written, out))
	require.Equal(t, 3.5, math.Float64frombits(binary.LittleEndian.Uint64(written.Bytes()[written.Len()-8:])))
}

// Functions of the classic generation take booleans with another type.
func TestCall_ClassicBool(t *testing.T) {
	for classic, want := range map[bool]dlpack.DataType{true: dlpack.ClassicBool, false: dlpack.Bool} {
		c := &call{dev: runtime.CPU, classic: func() bool { return classic }}
		require.NoError(t, c.addArguments([]any{&arguments.Array{DType: dlpack.Bool, Shape: []int64{2}, Data: []byte{1, 0}}}))
		require.Equal(t, want, c.tensors[0].DType())
		c.close()
	}
}

func TestTimes(t *testing.T) {
	times := stats.Summarize([]float64{1e3, 2e3, 3e3, 4e3, 5e3, 6e3, 7e3, 8e3, 9e3, 100e3})
	require.Equal(t, "time of a call: median 5.50 µs, min 1.00 µs, mean 14.5 µs, p90 9.00 µs, p99 100 µs, max 100 µs\n"+
		"measured by the wall clock: 10 samples of 7 calls\n",
		timesText(&bench.Row{Calls: 7, Clock: bench.ClockWall, Times: &times}))
	for seconds, want := range map[float64]string{1.5: "1.50 s", 0.0123: "12.3 ms", 123e-6: "123 µs", 0.812e-6: "812 ns",
		3.8e-9: "3.80 ns"} {
		require.Equal(t, want, duration(seconds))
	}
}

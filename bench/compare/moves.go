package main

import (
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// moveBytes is the function in program/hand.c that copies: it reads and writes as many bytes as an operator must.
const moveBytes = "move"

// moveLimit is the target for the time of an operator relative to that of a copy of its bytes.
const moveLimit = 1 / 0.8

// A move is an operator whose time should be that of moving the bytes that it must read and write.
type move struct {
	name, what string
	build      func() (ins []*te.Tensor, out *te.Tensor)
}

var moves = []move{
	{"transpose", "transpose, 2048×2048 float32", transposed(tir.Float32, []int{1, 0}, 2048, 2048)},
	{"transpose-int8", "transpose, 4096×4096 int8", transposed(tir.Int8, []int{1, 0}, 4096, 4096)},
	{"transpose-nhwc", "transpose, 8×64×56×56 NCHW to NHWC", transposed(tir.Float32, []int{0, 2, 3, 1}, 8, 64, 56, 56)},
	{"transpose-nchw", "transpose, 8×56×56×64 NHWC to NCHW", transposed(tir.Float32, []int{0, 3, 1, 2}, 8, 56, 56, 64)},
	{"transpose-heads", "transpose, 128 positions of 12 heads of 64",
		transposed(tir.Float32, []int{0, 2, 1, 3}, 1, 128, 12, 64)},
	{"transpose-keys", "transpose, the same to columns", transposed(tir.Float32, []int{0, 2, 3, 1}, 1, 128, 12, 64)},
	{"sum", "sum of all, 16 Mi float32", sumOfAll(16 << 20)},
	{"sum-matrix", "sum of all, 4096×4096 float32", sumOfAll(4096, 4096)},
	{"argmax-last", "argmax of each row, 4096×4096 float32", greatest(1)},
	{"argmax-first", "argmax of each column, 4096×4096 float32", greatest(0)},
}

// transposed is the transposition of a tensor.
func transposed(t tir.Type, order []int, sizes ...int32) func() ([]*te.Tensor, *te.Tensor) {
	return func() ([]*te.Tensor, *te.Tensor) {
		x := te.Placeholder(te.Dims(sizes...), t, "X")
		return []*te.Tensor{x}, ops.Transpose(x, "Y", order...)
	}
}

// sumOfAll is the sum of all elements of a tensor.
func sumOfAll(sizes ...int32) func() ([]*te.Tensor, *te.Tensor) {
	return func() ([]*te.Tensor, *te.Tensor) {
		x := input("X", sizes...)
		return []*te.Tensor{x}, ops.Sum(x, "Y", nil, false)
	}
}

// greatest is the position of the greatest element along an axis of a matrix.
func greatest(axis int) func() ([]*te.Tensor, *te.Tensor) {
	return func() ([]*te.Tensor, *te.Tensor) {
		x := input("X", 4096, 4096)
		return []*te.Tensor{x}, ops.ArgMax(x, "Y", []int{axis}, false)
	}
}

func init() {
	for _, m := range moves {
		ours, copied := "te."+m.name, "te."+m.name+handSuffix
		operators = append(operators, operator{m.name, moveBytes, m.build})
		what := m.what + " (base: a copy of as many bytes)"
		table = append(table, row{"te-" + m.name, what, ours, copied, moveLimit, ratio})
		groups = append(groups, group{measures: []string{ours, copied}, quiet: true})
	}
}

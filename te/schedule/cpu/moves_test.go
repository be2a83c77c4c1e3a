//go:build cgo

package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tvmgo/internal/testing/testseed"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// TestMoves_LikeUnscheduled compares schedules of transpositions, reductions of all elements, argmax and argmin with
// serial loops.
func TestMoves_LikeUnscheduled(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 3))
	near := func(n int) int { return max(1, n+r.IntN(5)-2) }
	var cases []fastCase
	for _, size := range [][]int{{near(2200)}, {near(60), 40}, {3, near(8), 100}, {1, 1, 2400}} {
		for _, typ := range []tir.Type{tir.Float32, tir.Int32} {
			x := holder(typ, "X", size...)
			cases = append(cases,
				fastCase{fmt.Sprintf("sum of all %s%v", typ, size), []*te.Tensor{x}, ops.Sum(x, "S", nil, false), 0, false},
				fastCase{fmt.Sprintf("greatest of all %s%v", typ, size), []*te.Tensor{x}, ops.Max(x, "S", nil, true), 0, false})
		}
	}
	for k, size := range [][]int{{near(8), 100}, {3, near(140)}, {2, 5, 64}, {near(70), 40}} {
		for at := range size {
			find := []func(*te.Tensor, string, []int, bool) *te.Tensor{ops.ArgMax, ops.ArgMin, ops.ArgMaxLast,
				ops.ArgMinLast}[(k+at)%4]
			for _, typ := range []tir.Type{tir.Float32, tir.Int32} {
				x := holder(typ, "X", size...)
				cases = append(cases, fastCase{fmt.Sprintf("position %d of %s%v along %d", (k+at)%4, typ, size, at),
					[]*te.Tensor{x}, find(x, "P", []int{at}, at%2 == 0), 0, false})
			}
		}
	}
	for k, size := range [][]int{{3, 512 + near(3)}, {2, near(1100)}, {2, 1536}, {1, near(2200)}} { // chunks of rows
		for n, find := range []func(*te.Tensor, string, []int, bool) *te.Tensor{ops.ArgMax, ops.ArgMin, ops.ArgMaxLast,
			ops.ArgMinLast} {
			typ := []tir.Type{tir.Float32, tir.Int32, tir.Float64, tir.Int64}[(k+n)%4]
			x := holder(typ, "X", size...)
			twice := ops.Map(x, "M", func(e tir.Expr) tir.Expr { return tir.Add(e, e) })
			cases = append(cases, fastCase{fmt.Sprintf("position %d of chunks of %s%v", n, typ, size), []*te.Tensor{x},
				find(x, "P", []int{1}, false), 0, false},
				fastCase{fmt.Sprintf("position %d of computed chunks of %s%v", n, typ, size), []*te.Tensor{x},
					find(twice, "P", []int{1}, false), 0, false})
		}
	}
	for i, size := range [][]int{{48, 80}, {144, 80}, {64, 128}, {515, 530}} {
		for _, typ := range []tir.Type{tir.Int8, tir.Float32, []tir.Type{tir.Int16, tir.UInt8}[i%2]} {
			if size[0] > 512 && typ != tir.Int8 {
				continue
			}
			x := holder(typ, "X", size...)
			cases = append(cases, fastCase{fmt.Sprintf("transposed %s%v", typ, size), []*te.Tensor{x},
				ops.Transpose(x, "T"), 0, false})
		}
	}
	for _, order := range [][]int{{0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0}, {1, 3, 0, 2}} {
		for _, typ := range []tir.Type{tir.Int32, tir.Float32} {
			x := holder(typ, "X", 4, 32, 12, 8)
			cases = append(cases, fastCase{fmt.Sprintf("transposed %s in the order %v", typ, order), []*te.Tensor{x},
				ops.Transpose(x, "T", order...), 0, false})
		}
	}
	likeUnscheduled(t, seed, cases)
}

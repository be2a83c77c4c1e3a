//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
)

// einsumOf computes an equation with explicit result and without "...": a sum over all letters.
func einsumOf(equation string, t tir.Type, all ...*nd) *nd {
	left, right, _ := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	var letters []byte
	sizes := map[byte]int{}
	for k, term := range terms {
		for d := range term {
			if sizes[term[d]] == 0 {
				letters = append(letters, term[d])
			}
			sizes[term[d]] = max(sizes[term[d]], all[k].shape[d])
		}
	}
	var shape, whole []int
	for d := range right {
		shape = append(shape, sizes[right[d]])
	}
	for _, l := range letters {
		whole = append(whole, sizes[l])
	}
	out := &nd{t, shape, make([]float64, count(shape))}
	eachIndex(whole, func(i []int) {
		at := func(labels string, shape []int) []int {
			index := make([]int, len(labels))
			for d := range labels {
				if index[d] = i[slices.Index(letters, labels[d])]; shape[d] == 1 {
					index[d] = 0
				}
			}
			return index
		}
		v := 1.0
		for k, term := range terms {
			v *= all[k].at(at(term, all[k].shape)...)
		}
		out.v[out.position(at(right, shape))] += v
	})
	for i := range out.v {
		out.v[i] = rounded16(t, out.v[i])
	}
	return out
}

var _ = valueCases("einsum", einsumCases)

func einsumCases() (cases []opCase) {
	for n, dt := range allNumbers {
		for m, c := range []struct {
			equation, full string // full: the same with an explicit result and without "..."
			shapes         [][]int
		}{
			{"ij,jk->ik", "", [][]int{{3, 5}, {5, 4}}},
			{"ij,jk", "ij,jk->ik", [][]int{{3, 5}, {5, 4}}},
			{"ba,ac", "ba,ac->bc", [][]int{{3, 5}, {5, 4}}},
			{"bij , bjk -> bik", "bij,bjk->bik", [][]int{{2, 3, 5}, {2, 5, 4}}},
			{"kmb,bnk->bnm", "", [][]int{{5, 3, 2}, {2, 4, 5}}},
			{"ijk,kjl->il", "", [][]int{{2, 3, 4}, {4, 3, 5}}},
			{"iajk,jkb->bia", "", [][]int{{2, 3, 2, 2}, {2, 2, 3}}},
			{"ii->i", "", [][]int{{4, 4}}}, {"ii", "ii->", [][]int{{4, 4}}}, {"ij->ji", "", [][]int{{3, 5}}},
			{"ij->", "", [][]int{{3, 5}}}, {"ba", "ba->ab", [][]int{{3, 5}}}, {"i,j->ij", "", [][]int{{3}, {4}}},
			{"i,i", "i,i->", [][]int{{5}, {5}}}, {"ij,ij->ij", "", [][]int{{2, 3}, {2, 3}}},
			{"iij,jk->ik", "", [][]int{{3, 3, 2}, {2, 4}}}, {"ij,kl->l", "", [][]int{{2, 3}, {2, 4}}},
			{"ij,jk,kl->il", "", [][]int{{2, 3}, {3, 4}, {4, 2}}}, {"i,ij,j", "i,ij,j->", [][]int{{2}, {2, 3}, {3}}},
			{"...ij,...jk->...ik", "abij,bjk->abik", [][]int{{2, 1, 3, 2}, {2, 2, 4}}},
			{"...i->...", "abi->ab", [][]int{{2, 3, 4}}}, {"...j,j...", "baj,jba->ba", [][]int{{2, 3, 2}, {2, 2, 3}}},
			{"i...,...->i...", "iab,ab->iab", [][]int{{2, 3, 4}, {3, 1}}},
			{"ij,jk->ik", "", [][]int{{3, 1}, {5, 4}}}, {"ij,jk->ik", "", [][]int{{3, 0}, {0, 4}}},
			{",i->i", "", [][]int{{}, {3}}},
		} {
			if n%6 != m%6 && dt != tir.Float32 {
				continue
			}
			if c.full == "" {
				c.full = c.equation
			}
			var ins []*nd
			for _, s := range c.shapes {
				ins = append(ins, filled(dt, s, func(i int) float64 { return float64(i % 4) }))
			}
			cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v", c.equation, dt, c.shapes), ins: ins,
				want: einsumOf(c.full, dt, ins...),
				make: func(x []*te.Tensor) *te.Tensor { return Einsum("Y", c.equation, x...) }})
		}
	}
	return cases
}

var _ = valueCases("matrices", matricesCases)

func matricesCases() (cases []opCase) {
	for _, dt := range floatTypes {
		for _, shape := range [][]int{{3, 3}, {2, 4, 4}, {1, 1}, {0, 0}, {3, 2, 2}, {0, 2, 2}} {
			x := filled(dt, shape, func(i int) float64 { return float64(i*i*5%7) - float64(i%3) })
			n := shape[len(shape)-1]
			want := each(dt, shape[:len(shape)-2], func(b []int) float64 {
				var det func(rows []int, column int) float64
				det = func(rows []int, column int) float64 {
					if column == n {
						return 1
					}
					sum, sign := 0.0, 1.0
					for k, r := range rows {
						rest := slices.Delete(slices.Clone(rows), k, k+1)
						sum += sign * x.at(append(slices.Clone(b), r, column)...) * det(rest, column+1)
						sign = -sign
					}
					return sum
				}
				rows := make([]int, n)
				for k := range rows {
					rows[k] = k
				}
				return rounded16(dt, det(rows, 0))
			})
			cases = append(cases, opCase{name: fmt.Sprintf("det of %s%v", dt, shape), ins: []*nd{x}, want: want,
				tol:  math.Max(1e-5, tolerance(dt)),
				make: func(x []*te.Tensor) *te.Tensor { return Det(x[0], "Y") }})
		}
	}
	for _, dt := range allNumbers {
		x := filled(dt, []int{3, 5}, func(i int) float64 { return float64(i * 7 % 4) })
		cases = append(cases, opCase{name: fmt.Sprintf("hardmax of %s", dt), ins: []*nd{x},
			want: alongAxis(x, dt, 1, func(row []float64) []float64 {
				out := make([]float64, len(row))
				out[slices.Index(row, slices.Max(row))] = 1
				return out
			}), make: func(x []*te.Tensor) *te.Tensor { return Hardmax(x[0], "Y", -1) }})
	}
	return cases
}

// TestEinsum_Matmul expects a product of matrices where an equation is one.
func TestEinsum_Matmul(t *testing.T) {
	p := func(name string, s ...int32) *te.Tensor { return placeholder(name, s...) }
	for _, c := range []struct {
		equation string
		x, y     *te.Tensor
	}{
		{"ij,jk->ik", p("X", 3, 5), p("Y", 5, 4)}, {"bhqd,bhkd->bhqk", p("X", 2, 3, 4, 5), p("Y", 2, 3, 6, 5)},
		{"bqhd,bkhd->bhqk", p("X", 2, 3, 4, 5), p("Y", 2, 6, 4, 5)}, {"...ij,...jk->...ik", p("X", 2, 3, 5), p("Y", 2, 5, 4)},
	} {
		y := Einsum("Z", c.equation, c.x, c.y)
		require.NoError(t, y.Err())
		s, err := Schedule(newTarget(t, "c"), y)
		require.NoError(t, err)
		found := false
		for _, st := range s.Stages() {
			o := OperatorOf(st.Tensor())
			found = found || o != nil && o.Kind == "matmul"
		}
		require.True(t, found, c.equation)
	}
}

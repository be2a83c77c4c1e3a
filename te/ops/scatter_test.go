//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// updated is the reference of a Reduction.
func updated(r Reduction, t tir.Type, old, v float64) float64 {
	switch r {
	case AddTo:
		v += old
	case MultiplyBy:
		v *= old
	case Least:
		v = math.Min(old, v)
	case Greatest:
		v = math.Max(old, v)
	}
	return rounded16(t, v)
}

// eachIndex calls do for all indices of a shape, in row-major order.
func eachIndex(shape []int, do func(i []int)) {
	each(tir.Float64, shape, func(i []int) float64 {
		do(i)
		return 0
	})
}

var _ = valueCases("scatter", scatterCases)

func scatterCases() (cases []opCase) {
	it := []tir.Type{tir.Int32, tir.Int64, tir.Int8, tir.UInt16}
	for n, dt := range everyType {
		for r := Assign; r <= Greatest; r++ {
			if dt == tir.Bool && r != Assign || int(r) != n%5 && dt != tir.Float32 {
				continue
			}
			for _, c := range []struct {
				axis          int
				data, updates []int
			}{{1, []int{3, 5, 2}, []int{3, 7, 2}}, {-1, []int{3, 5}, []int{2, 4}}, {0, []int{6}, []int{11}},
				{0, []int{4, 3}, []int{0, 3}}, {0, []int{0, 3}, []int{2, 3}}, {-2, []int{70, 40}, []int{3, 40}}} {
				x, u := sample(dt, c.data...), represented(filled(dt, c.updates, func(i int) float64 { return float64(i%4 - 1) }))
				at := (c.axis + len(c.data)) % len(c.data)
				size := max(1, c.data[at])
				index := filled(it[n%4], c.updates, func(i int) float64 { return float64((i*5)%(2*size+1) - size) })
				want := &nd{dt, x.shape, slices.Clone(x.v)}
				eachIndex(c.updates, func(i []int) {
					to := slices.Clone(i)
					if to[at] = int(index.at(i...)); to[at] < 0 {
						to[at] += c.data[at]
					}
					if to[at] >= 0 && to[at] < c.data[at] {
						p := want.position(to)
						want.v[p] = updated(r, dt, want.v[p], u.at(i...))
					}
				})
				cases = append(cases, opCase{name: fmt.Sprintf("scatter %d of %s%v %v", r, dt, c.data, c.updates), want: want,
					ins: []*nd{x, index, u}, make: func(x []*te.Tensor) *te.Tensor {
						return ScatterElements(x[0], x[1], x[2], "Y", c.axis, r)
					}})
			}
			for _, c := range []struct {
				data, tuples []int
				k            int
			}{{[]int{4, 3, 2}, []int{5}, 2}, {[]int{4, 3}, []int{3, 2}, 1}, {[]int{7}, []int{9}, 1}, {[]int{3, 2}, []int{2}, 0},
				{[]int{3, 2}, []int{0}, 1}, {[]int{2, 100}, []int{3}, 1}, {[]int{2, 3}, nil, 2}} {
				x := sample(dt, c.data...)
				index := filled(it[n%4], append(slices.Clone(c.tuples), c.k), func(i int) float64 { return float64((i*3)%5 - 2) })
				u := filled(dt, append(slices.Clone(c.tuples), c.data[c.k:]...), func(i int) float64 { return float64(i%3 + 1) })
				want := &nd{dt, x.shape, slices.Clone(x.v)}
				eachIndex(u.shape, func(i []int) {
					to := slices.Clone(i[len(c.tuples):])
					for d := c.k - 1; d >= 0; d-- {
						p := int(index.at(append(slices.Clone(i[:len(c.tuples)]), d)...))
						if p < 0 {
							p += c.data[d]
						}
						if p < 0 || p >= c.data[d] {
							return
						}
						to = append([]int{p}, to...)
					}
					p := want.position(to)
					want.v[p] = updated(r, dt, want.v[p], u.at(i...))
				})
				cases = append(cases, opCase{name: fmt.Sprintf("scatter parts %d of %s%v %v", r, dt, c.data, u.shape), want: want,
					ins: []*nd{x, index, u}, make: func(x []*te.Tensor) *te.Tensor {
						return ScatterND(x[0], x[1], x[2], "Y", r)
					}})
			}
		}
	}
	nan := math.NaN()
	for r, want := range map[Reduction][]float64{Least: {nan, nan, 1}, Greatest: {nan, nan, 2}} {
		cases = append(cases, opCase{name: fmt.Sprintf("scatter no number, %d", r), ins: []*nd{
			{tir.Float32, []int{3}, []float64{nan, 1, 1}}, {tir.Int32, []int{3}, []float64{0, 1, 2}},
			{tir.Float32, []int{3}, []float64{1, nan, 2}}}, want: &nd{tir.Float32, []int{3}, want},
			make: func(x []*te.Tensor) *te.Tensor { return ScatterElements(x[0], x[1], x[2], "Y", 0, r) }})
	}
	// between other operators
	x, index, u := sample(tir.Float32, 4, 6), &nd{tir.Int32, []int{2, 1}, []float64{3, 1}}, sample(tir.Float32, 2, 6)
	cases = append(cases, opCase{name: "scatter among others", ins: []*nd{x, index, u},
		want: each(tir.Float32, x.shape, func(i []int) float64 {
			v := 2 * x.at(i...)
			for k, row := range index.v {
				if int(row) == i[0] {
					v = -u.at(k, i[1])
				}
			}
			return v + 1
		}), make: func(x []*te.Tensor) *te.Tensor {
			s := ScatterND(Add(x[0], x[0], "A"), x[1], Neg(x[2], "N"), "S", Assign)
			return Map(s, "Y", func(e tir.Expr) tir.Expr { return tir.Add(e, tir.F32(1)) })
		}})
	return cases
}

var _ = valueCases("gatherND", gatherNDCases)

func gatherNDCases() (cases []opCase) {
	for n, dt := range everyType {
		for _, c := range []struct {
			x, index []int
			batch    int
		}{{[]int{3, 4, 2}, []int{5, 2}, 0}, {[]int{3, 4, 2}, []int{3, 2, 1}, 1}, {[]int{2, 3}, []int{2, 3, 0}, 1},
			{[]int{2, 3, 4}, []int{2, 3, 1}, 2}, {[]int{0, 3}, []int{0, 1}, 0}} {
			x, b := sample(dt, c.x...), []Bounds{FromEnd, Wrap, Clamp, Zero}[n%4]
			index := filled([]tir.Type{tir.Int32, tir.Int64, tir.Int16}[n%3], c.index, func(i int) float64 {
				return float64((i*3)%9 - 3)
			})
			k, last := c.index[len(c.index)-1], len(c.index)-1
			shape := append(slices.Clone(c.index[:last]), c.x[c.batch+k:]...)
			want := each(dt, shape, func(i []int) float64 {
				at := slices.Clone(i[:c.batch])
				for d := range k {
					p, size := int(index.at(append(slices.Clone(i[:last]), d)...)), c.x[c.batch+d]
					switch {
					case b == Zero && (p < 0 || p >= size):
						return 0
					case b == Wrap:
						p = (p%size + size) % size
					case b == FromEnd && p < 0:
						p += size
					}
					at = append(at, min(max(p, 0), size-1))
				}
				return x.at(append(at, i[last:]...)...)
			})
			cases = append(cases, opCase{name: fmt.Sprintf("gather parts %d of %s%v %v", b, dt, c.x, c.index), want: want,
				ins: []*nd{x, index}, make: func(x []*te.Tensor) *te.Tensor { return GatherND(x[0], x[1], "Y", c.batch, b) }})
		}
		x := sample(dt, 4, 5)
		index := &nd{tir.Int8, []int{3, 4}, []float64{0, 4, -1, -5, 1, -2, 9, -9, 0, 0, 0, 0}}
		resolved := func(i int) int {
			if i < 0 {
				i += 5
			}
			return min(max(i, 0), 4)
		}
		cases = append(cases, opCase{name: fmt.Sprintf("gather fewer of %s", dt), ins: []*nd{x, index},
			want: each(dt, []int{3, 4}, func(i []int) float64 { return x.at(i[0], resolved(int(index.at(i...)))) }),
			make: func(x []*te.Tensor) *te.Tensor { return Gather(x[0], x[1], "Y", 1, FromEnd) }},
			opCase{name: fmt.Sprintf("take from the end of %s", dt), ins: []*nd{x, index},
				want: each(dt, []int{4, 3, 4}, func(i []int) float64 { return x.at(i[0], resolved(int(index.at(i[1:]...)))) }),
				make: func(x []*te.Tensor) *te.Tensor { return Take(x[0], x[1], "Y", 1, FromEnd) }})
		for _, circular := range []bool{false, true} {
			cache, rows := sample(dt, 3, 2, 5, 2), filled(dt, []int{3, 2, 4, 2}, func(i int) float64 { return float64(i % 7) })
			starts := &nd{tir.Int64, []int{3}, []float64{0, 3, 7}}
			want := &nd{dt, cache.shape, slices.Clone(cache.v)}
			eachIndex(rows.shape, func(i []int) {
				to := []int{i[0], i[1], int(starts.at(i[0])) + i[2], i[3]}
				if circular {
					to[2] %= 5
				}
				if to[2] < 5 {
					want.v[want.position(to)] = rows.at(i...)
				}
			})
			cases = append(cases, opCase{name: fmt.Sprintf("cache of %s, %v", dt, circular), want: want,
				ins: []*nd{cache, rows, starts}, make: func(x []*te.Tensor) *te.Tensor {
					return UpdateCache(x[0], x[1], x[2], "Y", -2, circular)
				}})
		}
	}
	return cases
}

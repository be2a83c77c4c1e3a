//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// alongAxis replaces the elements along an axis by those that f returns for them, whose number may differ.
func alongAxis(x *nd, t tir.Type, axis int, f func(row []float64) []float64) *nd {
	rest := slices.Delete(slices.Clone(x.shape), axis, axis+1)
	var out *nd
	eachIndex(rest, func(i []int) {
		row := make([]float64, x.shape[axis])
		for k := range row {
			row[k] = x.at(slices.Insert(slices.Clone(i), axis, k)...)
		}
		r := f(row)
		if out == nil {
			shape := slices.Clone(x.shape)
			shape[axis] = len(r)
			out = &nd{t, shape, make([]float64, count(shape))}
		}
		for k, v := range r {
			out.v[out.position(slices.Insert(slices.Clone(i), axis, k))] = v
		}
	})
	if out == nil {
		out = &nd{t, x.shape, nil}
	}
	return out
}

var _ = valueCases("cumulative", cumulativeCases)

func cumulativeCases() (cases []opCase) {
	for n, dt := range allNumbers {
		for _, c := range []struct {
			shape []int
			axis  int
		}{{[]int{3, 5}, 1}, {[]int{7}, -1}, {[]int{2, 3, 70}, 0}, {[]int{2, 3, 4}, -2}, {[]int{0, 3}, 0}, {[]int{2, 0}, 0}} {
			for mode := range 4 {
				if (mode+n+len(c.shape))%4 > 0 && dt != tir.Float32 {
					continue
				}
				var options []CumulativeOption
				if mode&1 > 0 {
					options = append(options, Exclusive())
				}
				if mode&2 > 0 {
					options = append(options, Backward())
				}
				for name, op := range map[string]struct {
					make  func(*te.Tensor, string, int, ...CumulativeOption) *te.Tensor
					first float64
					f     func(a, b float64) float64
				}{"sum": {CumSum, 0, func(a, b float64) float64 { return a + b }},
					"product": {CumProd, 1, func(a, b float64) float64 { return a * b }}} {
					x := sample(dt, c.shape...)
					work := workType(dt)
					want := alongAxis(x, dt, (c.axis+len(c.shape))%len(c.shape), func(row []float64) []float64 {
						out, all := make([]float64, len(row)), op.first
						for k := range row {
							at := k
							if mode&2 > 0 {
								at = len(row) - 1 - k
							}
							next := rounded16(work, op.f(all, row[at]))
							if out[at] = rounded16(dt, next); mode&1 > 0 {
								out[at] = rounded16(dt, all)
							}
							all = next
						}
						return out
					})
					cases = append(cases, opCase{name: fmt.Sprintf("cumulative %s %d of %s%v", name, mode, dt, c.shape),
						ins: []*nd{x}, want: want,
						make: func(x []*te.Tensor) *te.Tensor { return op.make(x[0], "Y", c.axis, options...) }})
				}
			}
		}
	}
	return cases
}

// ordered returns the indices of values in sorted order; NaN is greater than every number.
func ordered(v []float64, descending bool) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := v[a], v[b]
		if descending {
			x, y = y, x
		}
		switch {
		case x < y || y != y && x == x:
			return -1
		case x > y || x != x && y == y:
			return 1
		}
		return 0
	})
	return order
}

var _ = valueCases("sorts", sortsCases)

func sortsCases() (cases []opCase) {
	for n, dt := range allNumbers {
		for m, c := range []struct {
			shape []int
			axis  int
		}{{[]int{3, 5}, 1}, {[]int{100}, -1}, {[]int{40, 3, 2}, 0}, {[]int{2, 8, 4}, -2}, {[]int{0, 3}, 0}, {[]int{2, 0}, 0},
			{[]int{2, 129}, 1}, {[]int{1}, 0}} {
			descending := (n+m)%2 == 0
			at := (c.axis + len(c.shape)) % len(c.shape)
			x := filled(dt, c.shape, func(i int) float64 { return float64(i * 37 % 101 % 50) })
			if tir.IsFloat(dt) && len(x.v) > 7 {
				x.v[3], x.v[7] = math.NaN(), math.Inf(-1)
			}
			it := []tir.Type{tir.Int64, tir.Int32}[m%2]
			add := func(name string, want *nd, make func(x *te.Tensor) *te.Tensor) {
				cases = append(cases, opCase{name: fmt.Sprintf("%s, %v, of %s%v", name, descending, dt, c.shape), ins: []*nd{x},
					want: want, make: func(x []*te.Tensor) *te.Tensor { return make(x[0]) }})
			}
			elements := func(row []float64, most int) (v, i []float64) {
				for _, k := range ordered(row, descending)[:min(most, len(row))] {
					v, i = append(v, row[k]), append(i, float64(k))
				}
				return v, i
			}
			add("sort", alongAxis(x, dt, at, func(row []float64) []float64 {
				v, _ := elements(row, len(row))
				return v
			}), func(x *te.Tensor) *te.Tensor { return Sort(x, "Y", c.axis, descending) })
			if (n+m)%3 > 0 && dt != tir.Float32 {
				continue
			}
			add("argsort", alongAxis(x, it, at, func(row []float64) []float64 {
				_, i := elements(row, len(row))
				return i
			}), func(x *te.Tensor) *te.Tensor { return ArgSort(x, "Y", c.axis, descending, it) })
			if c.shape[at] < 3 || len(x.v) == 0 {
				continue
			}
			add("top", alongAxis(x, dt, at, func(row []float64) []float64 {
				v, _ := elements(row, 3)
				return v
			}), func(x *te.Tensor) *te.Tensor { return TopK(x, "Y", tir.I32(3), c.axis, descending, it)[0] })
			add("top indices", alongAxis(x, it, at, func(row []float64) []float64 {
				_, i := elements(row, 3)
				return i
			}), func(x *te.Tensor) *te.Tensor { return TopK(x, "Y", tir.I32(3), c.axis, descending, it)[1] })
		}
	}
	for _, dt := range allNumbers {
		x := filled(dt, []int{4, 9}, func(i int) float64 { return float64(i * 7 % 4) })
		for name, op := range map[string]struct {
			make    func(*te.Tensor, string, []int, bool) *te.Tensor
			replace func(v, best float64) bool
		}{"greatest": {ArgMaxLast, func(v, best float64) bool { return v >= best }},
			"least": {ArgMinLast, func(v, best float64) bool { return v <= best }}} {
			cases = append(cases, opCase{name: fmt.Sprintf("last of the %s of %s", name, dt), ins: []*nd{x},
				want: alongAxis(x, tir.Int64, 1, func(row []float64) []float64 {
					at := 0
					for k, v := range row {
						if op.replace(v, row[at]) {
							at = k
						}
					}
					return []float64{float64(at)}
				}), make: func(x []*te.Tensor) *te.Tensor { return op.make(x[0], "Y", []int{1}, true) }})
		}
	}
	return cases
}

var _ = valueCases("selections", selectionsCases)

func selectionsCases() (cases []opCase) {
	number := func(n int) *nd { return &nd{tir.Int64, []int{}, []float64{float64(n)}} }
	for n, dt := range everyType {
		for _, shape := range [][]int{{7}, {3, 5}, {2, 3, 4}, {0, 2}, {2500}, {}} {
			if n%3 > 0 && len(shape) != 2 {
				continue
			}
			x := filled(dt, shape, func(i int) float64 { return float64(i * 5 % 3 % 2) })
			found := 0
			want := &nd{tir.Int64, []int{len(shape), len(x.v)}, make([]float64, len(shape)*len(x.v))}
			eachIndex(shape, func(i []int) {
				if x.at(i...) != 0 {
					for d := range i {
						want.v[want.position([]int{d, found})] = float64(i[d])
					}
					found++
				}
			})
			for k, want := range []*nd{want, number(found)} {
				cases = append(cases, opCase{name: fmt.Sprintf("nonzero %d of %s%v", k, dt, shape), ins: []*nd{x}, want: want,
					make: func(x []*te.Tensor) *te.Tensor { return Nonzero(x[0], "Y")[k] }})
			}
		}
		x, cond := sample(dt, 3, 5, 2), &nd{tir.Bool, []int{4}, []float64{1, 0, 0, 1}}
		want := each(dt, x.shape, func(i []int) float64 {
			if i[1] > 1 {
				return 0
			}
			return x.at(i[0], i[1]*3, i[2])
		})
		for k, want := range []*nd{want, number(2)} {
			cases = append(cases, opCase{name: fmt.Sprintf("compress %d of %s", k, dt), ins: []*nd{x, cond}, want: want,
				make: func(x []*te.Tensor) *te.Tensor { return Compress(x[0], x[1], "Y", -2)[k] }})
		}
	}
	return cases
}

var _ = valueCases("unique", uniqueCases)

func uniqueCases() (cases []opCase) {
	for n, dt := range allNumbers {
		for m, c := range []struct {
			shape []int
			v     []float64
		}{{[]int{9}, []float64{2, 1, 1, 3, 4, 3, 0, 2, 2}}, {[]int{0}, nil}, {[]int{40}, nil},
			{[]int{5, 2}, []float64{1, 2, 0, 5, 1, 2, 0, 4, 1, 1}}, {[]int{4, 1, 2}, []float64{3, 1, 3, 1, 3, 1, 3, 1}}} {
			x := filled(dt, c.shape, func(i int) float64 {
				if c.v == nil {
					return float64(i * 11 % 7)
				}
				return c.v[i]
			})
			if tir.IsFloat(dt) && len(x.v) == 9 {
				x.v[2], x.v[5] = math.NaN(), math.NaN()
			}
			rows, width := c.shape[0], count(c.shape[1:])
			row := func(k int) []float64 { return x.v[k*width : (k+1)*width] }
			compare := func(a, b []float64) int {
				for i := range a {
					if o := ordered([]float64{a[i], b[i]}, false); o[0] == 1 {
						return 1
					} else if o = ordered([]float64{b[i], a[i]}, false); o[0] == 1 {
						return -1
					}
				}
				return 0
			}
			for _, sorted := range []bool{true, false} {
				if (sorted != (n%2 == 0) || n%5 != m) && dt != tir.Float32 {
					continue
				}
				var firsts []int
				for k := range rows {
					if !slices.ContainsFunc(firsts, func(f int) bool { return compare(row(f), row(k)) == 0 }) {
						firsts = append(firsts, k)
					}
				}
				if sorted {
					slices.SortFunc(firsts, func(a, b int) int { return compare(row(a), row(b)) })
				}
				values := &nd{dt, c.shape, make([]float64, len(x.v))}
				vector := func() *nd { return &nd{tir.Int64, []int{rows}, make([]float64, rows)} }
				first, inverse, counts := vector(), vector(), vector()
				for g, f := range firsts {
					copy(values.v[g*width:], row(f))
					first.v[g] = float64(f)
					for k := range rows {
						if compare(row(f), row(k)) == 0 {
							inverse.v[k] = float64(g)
							counts.v[g]++
						}
					}
				}
				number := &nd{tir.Int64, []int{}, []float64{float64(len(firsts))}}
				for k, want := range []*nd{values, first, inverse, counts, number} {
					cases = append(cases, opCase{name: fmt.Sprintf("unique %d, %v, of %s%v", k, sorted, dt, c.shape), ins: []*nd{x},
						want: want, make: func(x []*te.Tensor) *te.Tensor { return Unique(x[0], "Y", sorted)[k] }})
				}
			}
		}
	}
	return cases
}

var _ = valueCases("suppression", suppressionCases)

func suppressionCases() (cases []opCase) {
	const images, classes, n = 2, 3, 12
	for mode := range 16 {
		centered, flipped := mode&1 > 0, mode&2 > 0
		boxes := filled(tir.Float32, []int{images, n, 4}, func(i int) float64 {
			low, side := float64(i/4*7%10), float64(i/4%3+1)
			switch d := i % 4; {
			case d < 2 == (flipped && !centered):
				return low + side + float64(i%2)/4
			case d >= 2 && centered:
				return side
			}
			return low + float64(i%2)/4
		})
		scores := filled(tir.Float32, []int{images, classes, n}, func(i int) float64 { return float64(i*29%31) / 32 })
		most, overlap, least := &nd{tir.Int64, []int{1}, []float64{float64(3 + mode%2)}},
			&nd{tir.Float32, []int{}, []float64{0.25}}, &nd{tir.Float32, []int{1}, []float64{0.375}}
		ins, limits := []*nd{boxes, scores}, []bool{mode&4 > 0, mode&8 > 0, mode%3 > 0}
		for k, x := range []*nd{most, overlap, least} {
			if limits[k] {
				ins = append(ins, x)
			}
		}
		sides := func(b, k, d int) (low, high float64) {
			p, q := boxes.at(b, k, d), boxes.at(b, k, d+2)
			if centered {
				return p - q/2, p + q/2
			}
			return math.Min(p, q), math.Max(p, q)
		}
		var rows []float64
		for b := range images {
			for c := range classes {
				var chosen []int
				for _, k := range ordered(scores.v[(b*classes+c)*n:][:n], true) {
					if limits[2] && scores.at(b, c, k) <= 0.375 || limits[0] && len(chosen) >= int(most.v[0]) {
						continue
					}
					if slices.ContainsFunc(chosen, func(o int) bool {
						shared, own, other := 1.0, 1.0, 1.0
						for d := range 2 {
							l, h := sides(b, k, d)
							m, g := sides(b, o, d)
							shared *= math.Max(0, math.Min(h, g)-math.Max(l, m))
							own, other = own*(h-l), other*(g-m)
						}
						part := 0.0
						if limits[1] {
							part = 0.25
						}
						return shared > 0 && shared/(own+other-shared) > part
					}) {
						continue
					}
					chosen = append(chosen, k)
					rows = append(rows, float64(b), float64(c), float64(k))
				}
			}
		}
		want := &nd{tir.Int64, []int{images * classes * n, 3}, make([]float64, images*classes*n*3)}
		copy(want.v, rows)
		for k, want := range []*nd{want, {tir.Int64, []int{}, []float64{float64(len(rows) / 3)}}} {
			cases = append(cases, opCase{name: fmt.Sprintf("suppression %d in mode %d", k, mode), ins: ins, want: want,
				make: func(x []*te.Tensor) *te.Tensor {
					var l SuppressionLimits
					rest := x[2:]
					for k, t := range []**te.Tensor{&l.Boxes, &l.Overlap, &l.Score} {
						if limits[k] {
							*t, rest = rest[0], rest[1:]
						}
					}
					return NonMaxSuppression(x[0], x[1], l, "Y", centered)[k]
				}})
		}
	}
	return cases
}

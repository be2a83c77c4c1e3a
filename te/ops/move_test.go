//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
)

// everyType has all element types that operators accept.
var everyType = append([]tir.Type{tir.Bool}, allNumbers...)

var _ = valueCases("moves", movesCases)

func movesCases() []opCase {
	var cases []opCase
	add := func(name string, make func(x []*te.Tensor) *te.Tensor, want *nd, ins ...*nd) {
		cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v", name, ins[0].t, ins[0].shape), ins: ins, make: make,
			want: want})
	}
	for n, dt := range everyType {
		some := func(k int) bool { return (n+k)%4 == 0 || dt == tir.Float32 }
		x, cube, vector := sample(dt, 3, 5), sample(dt, 2, 3, 4), sample(dt, 7)
		if some(0) {
			add("transpose", func(x []*te.Tensor) *te.Tensor { return Transpose(x[0], "Y", 2, 0, -2) },
				each(dt, []int{4, 2, 3}, func(i []int) float64 { return cube.at(i[1], i[2], i[0]) }), cube)
			add("reverse", func(x []*te.Tensor) *te.Tensor { return Transpose(x[0], "Y") },
				each(dt, []int{5, 3}, func(i []int) float64 { return x.at(i[1], i[0]) }), x)
			add("flatten", func(x []*te.Tensor) *te.Tensor { return Flatten(x[0], "Y", 1) }, &nd{dt, []int{2, 12}, cube.v}, cube)
			add("flatten all", func(x []*te.Tensor) *te.Tensor { return Flatten(x[0], "Y", 3) },
				&nd{dt, []int{24, 1}, cube.v}, cube)
		}
		if some(1) {
			add("reshape", func(x []*te.Tensor) *te.Tensor { return Reshape(x[0], "Y", te.Dims(4, -1, 2)...) },
				&nd{dt, []int{4, 3, 2}, cube.v}, cube)
			add("reshape to one", func(x []*te.Tensor) *te.Tensor { return Reshape(x[0], "Y", te.Dims(2, 12)...) },
				&nd{dt, []int{2, 12}, cube.v}, cube)
			add("reshape scalar", func(x []*te.Tensor) *te.Tensor { return Reshape(x[0], "Y", te.Dims(1, 1)...) },
				&nd{dt, []int{1, 1}, []float64{1}},
				&nd{dt, []int{}, []float64{1}})
			add("reshape nothing", func(x []*te.Tensor) *te.Tensor { return Reshape(x[0], "Y", te.Dims(3, 0)...) },
				sample(dt, 3, 0), sample(dt, 0, 5))
			add("split", func(x []*te.Tensor) *te.Tensor { return Split(x[0], "Y", -1, 2, 0, 3)[2] },
				each(dt, []int{3, 3}, func(i []int) float64 { return x.at(i[0], i[1]+2) }), x)
		}
		if some(2) {
			y, none := sample(dt, 3, 2), sample(dt, 3, 0)
			add("concat", func(x []*te.Tensor) *te.Tensor { return Concat("Y", -1, x...) },
				each(dt, []int{3, 12}, func(i []int) float64 {
					switch k := i[1]; {
					case k < 5:
						return x.at(i[0], k)
					case k < 7:
						return y.at(i[0], k-5)
					default:
						return x.at(i[0], k-7)
					}
				}), x, y, none, x)
			add("stack", func(x []*te.Tensor) *te.Tensor { return Stack("Y", -2, x...) },
				each(dt, []int{3, 3, 5}, func(i []int) float64 {
					if i[1] == 1 {
						return y2(x).at(i[0], i[2])
					}
					return x.at(i[0], i[2])
				}), x, y2(x), x)
			add("concat of one", func(x []*te.Tensor) *te.Tensor { return Concat("Y", 0, x[0]) }, vector, vector)
		}
		if some(3) {
			for mode, options := range map[string][]PadOption{"zeros": nil, "value": {PadValue(1)}, "edge": {PadEdge()},
				"reflect": {PadReflect()}} {
				add("pad by "+mode, func(x []*te.Tensor) *te.Tensor { return Pad(x[0], "Y", []int{2, 0}, []int{1, 3}, options...) },
					each(dt, []int{6, 8}, func(i []int) float64 {
						at := []int{i[0] - 2, i[1]}
						for d, size := range []int{3, 5} {
							if at[d] >= 0 && at[d] < size {
								continue
							}
							switch {
							case mode == "zeros":
								return 0
							case mode == "value":
								return 1
							case mode == "edge":
								at[d] = min(max(at[d], 0), size-1)
							case at[d] < 0:
								at[d] = -at[d]
							default:
								at[d] = 2*(size-1) - at[d]
							}
						}
						return x.at(at...)
					}), x)
			}
		}
	}
	// slices as in Python; the expected results were written by hand for the list 0 to 6
	numbers := filled(tir.Int32, []int{7}, func(i int) float64 { return float64(i) })
	for _, s := range []struct {
		r    Range
		want []float64
	}{{Range{0, 1, 6, 2}, []float64{1, 3, 5}}, {Range{0, 0, ToEnd, 3}, []float64{0, 3, 6}}, {Range{-1, -3, ToEnd, 0},
		[]float64{4, 5, 6}}, {Range{0, -100, 100, 4}, []float64{0, 4}},
		{Range{0, ToEnd, ToStart, -1}, []float64{6, 5, 4, 3, 2, 1, 0}}, {Range{0, 5, 1, -2},
			[]float64{5, 3}}, {Range{0, -1, -4, -1}, []float64{6, 5, 4}}, {Range{0, 4, 2, 1}, []float64{}},
		{Range{0, 2, 4, -1}, []float64{}}, {Range{0, 100, ToStart, -5}, []float64{6, 1}}, {Range{0, -9, ToStart, -1},
			[]float64{}}, {Range{0, 7, ToEnd, 1}, []float64{}},
		{Range{0, ToStart, 2, 1}, []float64{0, 1}}} {
		add(fmt.Sprintf("slice %v", s.r), func(x []*te.Tensor) *te.Tensor { return Slice(x[0], "Y", s.r) },
			&nd{tir.Int32, []int{len(s.want)}, s.want}, numbers)
	}
	grid := sample(tir.Float32, 4, 37)
	add("slice of two axes", func(x []*te.Tensor) *te.Tensor {
		return Slice(x[0], "Y", Range{1, 35, 2, -3}, Range{0, 1, ToEnd, 2})
	},
		each(tir.Float32, []int{2, 11}, func(i []int) float64 { return grid.at(1+2*i[0], 35-3*i[1]) }), grid)
	return cases
}

// y2 returns an array in reverse order.
func y2(x *nd) *nd {
	v := slices.Clone(x.v)
	slices.Reverse(v)
	return &nd{x.t, x.shape, v}
}

var _ = valueCases("take", takeCases)

func takeCases() []opCase {
	// resolved returns the position to which an index refers among n; false if there is none.
	resolved := func(b Bounds, i, n int) (int, bool) {
		switch b {
		case Clamp:
			return min(max(i, 0), n-1), true
		case Wrap:
			return (i%n + n) % n, true
		}
		return i, i >= 0 && i < n
	}
	var cases []opCase
	for n, it := range []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32} {
		for _, b := range []Bounds{Clamp, Wrap, Zero} {
			dt := everyType[(n*3+int(b))%len(everyType)]
			x := sample(dt, 3, 5, 2)
			index := filled(it, []int{2, 3}, func(i int) float64 { return []float64{0, 4, -1, 5, -17, 100}[i] })
			value := func(i, j, k int) float64 {
				if at, ok := resolved(b, j, 5); ok {
					return x.at(i, at, k)
				}
				return 0
			}
			as := func(v float64) int { // as an unsigned 32-bit index it is far out of bounds
				return int(v)
			}
			cases = append(cases, opCase{name: fmt.Sprintf("take of %s by %s, %d", dt, it, b), ins: []*nd{x, index},
				make: func(x []*te.Tensor) *te.Tensor { return Take(x[0], x[1], "Y", -2, b) },
				want: each(dt, []int{3, 2, 3, 2}, func(i []int) float64 { return value(i[0], as(index.at(i[1], i[2])), i[3]) })})
			along := filled(it, []int{3, 4, 2}, func(i int) float64 { return float64(i%9 - 3) })
			cases = append(cases, opCase{name: fmt.Sprintf("take along of %s by %s, %d", dt, it, b), ins: []*nd{x, along},
				make: func(x []*te.Tensor) *te.Tensor { return Gather(x[0], x[1], "Y", 1, b) },
				want: each(dt, []int{3, 4, 2}, func(i []int) float64 { return value(i[0], as(along.at(i...)), i[2]) })})
		}
	}
	far := &nd{tir.Int64, []int{2}, []float64{-1 << 63, 1 << 62}}
	x := sample(tir.Float32, 4)
	cases = append(cases, opCase{name: "far away", ins: []*nd{x, far},
		want: &nd{tir.Float32, []int{2}, []float64{x.v[0], x.v[3]}},
		make: func(x []*te.Tensor) *te.Tensor { return Take(x[0], x[1], "Y", 0, Clamp) }},
		opCase{name: "of nothing", ins: []*nd{{tir.Float32, []int{0, 2}, nil}, far}, want: &nd{tir.Float32, []int{2, 2},
			make([]float64, 4)},
			make: func(x []*te.Tensor) *te.Tensor { return Take(x[0], x[1], "Y", 0, Zero) }},
		opCase{name: "no indices", ins: []*nd{{tir.Float32, []int{0, 2}, nil}, {tir.Int32, []int{0}, nil}},
			want: &nd{tir.Float32, []int{0, 2}, nil},
			make: func(x []*te.Tensor) *te.Tensor { return Take(x[0], x[1], "Y", 0, Clamp) }},
		opCase{name: "one index", ins: []*nd{x, {tir.Int32, []int{}, []float64{2}}},
			want: &nd{tir.Float32, []int{}, []float64{x.v[2]}},
			make: func(x []*te.Tensor) *te.Tensor { return Take(x[0], x[1], "Y", 0, Clamp) }},
		opCase{name: "one hot", ins: []*nd{{tir.Int8, []int{4}, []float64{0, 2, -1, 3}}},
			want: &nd{tir.Float16, []int{4, 3}, []float64{5, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1}},
			make: func(x []*te.Tensor) *te.Tensor { return OneHot(x[0], 3, 5, -1, tir.Float16, "Y") }})
	return cases
}

var _ = valueCases("cast", castCases)

func castCases() []opCase {
	var cases []opCase
	nan, inf := math.NaN(), math.Inf(1)
	for _, from := range everyType {
		for _, to := range everyType {
			x := sample(from, 5)
			switch {
			case tir.IsFloat(from):
				x = &nd{from, []int{13}, []float64{nan, inf, -inf, 0, 0.5, -0.5, 1.75, -1.75, 300, -300, 65504, -65504, 0.25}}
				if from == tir.Float32 || from == tir.Float64 || from == tir.BFloat16 {
					x.v = append(x.v, 1<<31, -(1 << 31), 1<<63, -(1 << 63), 1<<64, 1e30, -1e30, 1<<32)
				}
				x = filled(from, []int{len(x.v)}, func(i int) float64 { return x.v[i] })
			case from != tir.Bool:
				x = &nd{from, []int{6}, []float64{0, 1, limitOf(from, false), limitOf(from, true), 100,
					math.Floor(limitOf(from, true) / 3)}}
			}
			if from.Bits == 64 && tir.IsInt(from) { // numbers that float64 can represent
				x.v[3], x.v[5] = math.Exp2(40)+5, 1<<33+7
			}
			want := filled(to, x.shape, func(i int) float64 {
				v := x.v[i]
				switch {
				case to == tir.Bool:
					return truth(v != 0)
				case !tir.IsFloat(from) || !tir.IsInt(to):
					return v
				case v != v:
					return 0
				}
				return min(max(math.Trunc(v), limitOf(to, false)), limitOf(to, true))
			})
			cases = append(cases, opCase{name: fmt.Sprintf("%s as %s", from, to), ins: []*nd{x}, want: want,
				make: func(x []*te.Tensor) *te.Tensor { return Cast(x[0], to, "Y") }})
		}
	}
	for _, dt := range everyType {
		cases = append(cases, opCase{name: fmt.Sprintf("full of %s", dt), want: filled(dt, []int{3, 5}, func(int) float64 {
			return 1
		}),
			make: func([]*te.Tensor) *te.Tensor { return Full(te.Dims(3, 5), 1, dt, "Y") }})
		if dt == tir.Bool {
			continue
		}
		for _, r := range [][3]float64{{0, 7, 1}, {3, 40, 2}, {9, 1, -3}, {5, 5, 1}, {1, 0, 1}} {
			n := max(0, int(math.Ceil((r[1]-r[0])/r[2])))
			cases = append(cases, opCase{name: fmt.Sprintf("arange %v of %s", r, dt),
				want: filled(dt, []int{n}, func(i int) float64 { return r[0] + float64(i)*r[2] }),
				make: func([]*te.Tensor) *te.Tensor { return Arange(r[0], r[1], r[2], dt, "Y") }})
		}
	}
	cases = append(cases, opCase{name: "halves", want: filled(tir.Float16, []int{5}, func(i int) float64 {
		return -1 + 0.5*float64(i)
	}),
		make: func([]*te.Tensor) *te.Tensor { return Arange(-1, 1.25, 0.5, tir.Float16, "Y") }})
	return cases
}

// TestMoves_AnySize uses variable sizes.
func TestMoves_AnySize(t *testing.T) {
	n, m := te.Var("n"), te.Var("m")
	x := te.Placeholder([]tir.Expr{n, m, tir.I32(4)}, tir.Float32, "X")
	for want, y := range map[string]*te.Tensor{
		"[n, m * 4] ":           Reshape(x, "Y", n, tir.Mul(m, tir.I32(4))),
		"[n, m * 4]":            Flatten(x, "Y", 1),
		"[2, n, m, 2]":          Transpose(Reshape(x, "Y", n, m, tir.I32(2), tir.I32(-1)), "T", 2, 0, 1, 3),
		"[n * 2, m, 4]":         Concat("Y", 0, x, x),
		"[n, m, 3, 4]":          Stack("Y", 2, x, x, x),
		"[n + 3, m, 4]":         Pad(x, "Y", []int{1, 0, 0}, []int{2, 0, 0}),
		"[n, max(0, m - 1), 4]": Slice(x, "Y", Range{1, 1, ToEnd, 1}),
	} {
		require.NoError(t, y.Err(), want)
		s := must.Get(Schedule(newTarget(t, "c"), y))(t)
		f, err := te.Lower(s, []any{x, y}, "f")
		require.NoError(t, err, want)
		require.NoError(t, tir.Check(f), want)
		require.Equal(t, strings.TrimSpace(want), shapeText(y.ProducerShape()))
	}
}

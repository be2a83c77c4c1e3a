//go:build cgo

package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("rearrange", rearrangeCases)

func rearrangeCases() (cases []opCase) {
	for n, dt := range everyType {
		add := func(name string, make func(x []*te.Tensor) *te.Tensor, shape []int, from func(i []int) float64, ins ...*nd) {
			if len(cases)%3 == n%3 || dt == tir.Float32 {
				cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v", name, ins[0].t, ins[0].shape), ins: ins,
					make: make, want: each(dt, shape, from)})
				return
			}
			cases = append(cases, opCase{})
		}
		x, cube, none, scalar := sample(dt, 3, 5), sample(dt, 2, 3, 4), sample(dt, 2, 0), sample(dt)
		narrow := sample(dt, 3, 1)
		add("broadcast", func(x []*te.Tensor) *te.Tensor { return BroadcastTo(x[0], "Y", te.Dims(2, 1, 5)...) },
			[]int{2, 3, 5}, func(i []int) float64 { return narrow.at(i[1], 0) }, narrow)
		add("broadcast to less", func(x []*te.Tensor) *te.Tensor { return BroadcastTo(x[0], "Y", te.Dims(5)...) },
			[]int{3, 5}, func(i []int) float64 { return x.at(i...) }, x)
		add("broadcast", func(x []*te.Tensor) *te.Tensor { return BroadcastTo(x[0], "Y", te.Dims(0, 4)...) },
			[]int{0, 4}, nil, scalar)
		add("expand", func(x []*te.Tensor) *te.Tensor { return ExpandDims(x[0], "Y", -1, 0, 2) },
			[]int{1, 3, 1, 5, 1}, func(i []int) float64 { return x.at(i[1], i[3]) }, x)
		add("squeeze", func(x []*te.Tensor) *te.Tensor { return Squeeze(ExpandDims(x[0], "E", 0, 2), "Y", -2, 0) },
			[]int{3, 5}, func(i []int) float64 { return x.at(i...) }, x)
		add("squeeze all", func(x []*te.Tensor) *te.Tensor { return Squeeze(x[0], "Y") },
			[]int{3}, func(i []int) float64 { return narrow.at(i[0], 0) }, narrow)
		add("squeeze none", func(x []*te.Tensor) *te.Tensor { return Squeeze(x[0], "Y") },
			[]int{3, 5}, func(i []int) float64 { return x.at(i...) }, x)
		add("tile", func(x []*te.Tensor) *te.Tensor { return Tile(x[0], "Y", tir.I32(2), tir.I64(1), tir.I32(3)) },
			[]int{4, 3, 12}, func(i []int) float64 { return cube.at(i[0]%2, i[1], i[2]%4) }, cube)
		add("tile 0 times", func(x []*te.Tensor) *te.Tensor { return Tile(x[0], "Y", te.Dims(2, 0)...) },
			[]int{6, 0}, nil, x)
		add("tile nothing", func(x []*te.Tensor) *te.Tensor { return Tile(x[0], "Y", te.Dims(2, 3)...) },
			[]int{4, 0}, nil, none)
		add("repeat", func(x []*te.Tensor) *te.Tensor { return Repeat(x[0], "Y", -2, tir.I32(3)) },
			[]int{2, 9, 4}, func(i []int) float64 { return cube.at(i[0], i[1]/3, i[2]) }, cube)
		add("reverse", func(x []*te.Tensor) *te.Tensor { return Reverse(x[0], "Y", 1, -1) },
			[]int{2, 3, 4}, func(i []int) float64 { return cube.at(i[0], 2-i[1], 3-i[2]) }, cube)
		lengths := &nd{tir.Int64, []int{3}, []float64{2, 0, 9}}
		add("sequences", func(x []*te.Tensor) *te.Tensor { return ReverseSequence(x[0], x[1], "Y", 1, -1) },
			[]int{2, 3, 4}, func(i []int) float64 {
				return cube.at(i[0], i[1], [][]int{{1, 0, 2, 3}, {0, 1, 2, 3}, {3, 2, 1, 0}}[i[1]][i[2]])
			}, cube, lengths)
		for _, k := range []int{-2, 0, 1, 9} {
			for _, upper := range []bool{false, true} {
				add(fmt.Sprintf("trilu %d %v", k, upper), func(x []*te.Tensor) *te.Tensor {
					return Trilu(x[0], "Y", x[1].At(), upper)
				}, []int{2, 3, 4}, func(i []int) float64 {
					if above := i[2] - i[1] - k; upper && above >= 0 || !upper && above <= 0 {
						return cube.at(i...)
					}
					return 0
				}, cube, &nd{tir.Int64, []int{}, []float64{float64(k)}})
			}
		}
		add("eye", func([]*te.Tensor) *te.Tensor { return Eye(tir.I32(3), tir.I32(4), -1, dt, "Y") },
			[]int{3, 4}, func(i []int) float64 { return truth(i[1] == i[0]-1) }, x)
		index := &nd{tir.Int8, []int{4}, []float64{0, 2, -1, 3}}
		both := &nd{dt, []int{2}, []float64{0, 1}}
		add("one hot", func(x []*te.Tensor) *te.Tensor { return OneHotAlong(x[1], x[0], "Y", tir.I32(3), 0) },
			[]int{3, 4}, func(i []int) float64 { return truth([]int{0, 2, 2, 3}[i[1]] == i[0]) }, both, index)
		add("pad by wrap", func(x []*te.Tensor) *te.Tensor {
			return Pad(x[0], "Y", []int{1, 7}, []int{4, 0}, PadWrap())
		}, []int{8, 12}, func(i []int) float64 { return x.at((i[0]+2)%3, (i[1]+3)%5) }, x)
		add("crop", func(x []*te.Tensor) *te.Tensor { return Pad(x[0], "Y", []int{-1, 2}, []int{0, -3}) },
			[]int{2, 4}, func(i []int) float64 {
				if i[1] < 2 {
					return 0
				}
				return x.at(i[0]+1, i[1]-2)
			}, x)
		add("open slice", func(x []*te.Tensor) *te.Tensor {
			return OpenSlice(x[0], "Y", OpenRange{Axis: -1, Step: -2}, OpenRange{Begin: tir.I64(-2), End: tir.I32(9)})
		}, []int{2, 3}, func(i []int) float64 { return x.at(1+i[0], 4-2*i[1]) }, x)
		add("crop all", func(x []*te.Tensor) *te.Tensor { return Pad(x[0], "Y", []int{-9, 0}, []int{0, 0}) },
			[]int{0, 5}, nil, x)
		add("crop of more", func(x []*te.Tensor) *te.Tensor { return Pad(x[0], "Y", []int{-9, 0}, []int{8, 0}, PadValue(1)) },
			[]int{2, 5}, func([]int) float64 { return 1 }, x)
	}
	kept := cases[:0]
	for _, c := range cases {
		if c.make != nil {
			kept = append(kept, c)
		}
	}
	return kept
}

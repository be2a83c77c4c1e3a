package cpu

import (
	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// scheduleWinograd schedules a convolution by Winograd's algorithm (ops.ConvWinograd). First the whole image is
// transformed, each tile in registers. Then each iteration of the parallel loop computes the products of some blocks of
// filters with some tiles at neighbouring positions, and transforms these products into results. It returns false,
// without a change, if the sizes of the image are unknown or a block of channels is not a multiple of a vector.
func scheduleWinograd(g *schedule.Group, v simd) bool {
	s, parts := g.Schedule, g.Parts()
	tile, rows, image, products, results := parts[0], parts[1], parts[2], parts[3], parts[4]
	axes := s.Stage(products).Axes() // [row, column, batch, block, tile row, tile column, channel]
	lanes := int64(v.lanes(g.Result.ProducerDType()))
	width := sizeOf(axes[6])
	last := s.Stage(image).Axes()[6]
	if lanes == 0 || width < 1 || width%lanes != 0 || sizeOf(last) < 1 || sizeOf(last)%lanes != 0 ||
		sizeOf(axes[3]) < 1 || sizeOf(axes[4]) < 1 || sizeOf(axes[5]) < 1 {
		return false
	}
	t := winogradSumsOf(v, width/lanes, sizeOf(axes[3]), sizeOf(axes[4]), sizeOf(axes[5]))
	m := int(sizeOf(axes[0]) - 2)
	sums := s.Stage(s.CacheWrite(products, "local"))

	st := s.Stage(image)
	at := st.Axes()
	vector, lane := st.Split(at[6], int(lanes))
	st.Reorder(at[2], at[3], at[4], at[5], vector, at[0], at[1], lane)
	unroll(st, at[0], at[1])
	st.Vectorize(lane)
	fuseAll(st, at[2:5])
	for _, part := range []*te.Tensor{tile, rows} {
		s.Stage(part).ComputeAt(st, vector)
		inRegisters(s.Stage(part), int(lanes))
	}

	if g.Result != g.Root {
		s.Stage(g.Result).ComputeInline()
	}
	st = s.Stage(g.Root)
	at = st.Axes()
	blocks, block := st.Split(at[1], int(t.blocks))
	above, row := st.Split(at[2], m)
	left, column := st.Split(at[3], m)
	outerRow, tileRow := st.Split(above, int(t.rows))
	outerColumn, tileColumn := st.Split(left, int(t.columns))
	vector, lane = st.Split(at[4], int(lanes))
	st.Reorder(at[0], blocks, outerRow, outerColumn, block, tileRow, tileColumn, vector, row, column, lane)
	fuseAll(st, []*tir.IterVar{at[0], blocks, outerRow})
	unroll(st, row, column)
	st.Vectorize(lane)
	s.Stage(results).ComputeAt(st, vector)
	inRegisters(s.Stage(results), int(lanes))

	st = s.Stage(products)
	st.ComputeAt(s.Stage(g.Root), outerColumn)
	st.SetScope("local")
	axes = st.Axes()
	vector, lane = st.Split(axes[6], int(lanes))
	unroll(st, axes[2], axes[3], axes[4], axes[5], vector)
	st.Vectorize(lane)
	sums.ComputeAt(st, axes[1])
	axes = sums.Axes()
	vector, lane = sums.Split(axes[6], int(lanes))
	sums.Reorder(append(append(axes[:3:3], sums.ReduceAxes()...), axes[4], axes[5], axes[3], vector, lane)...)
	unroll(sums, axes[4], axes[5], axes[3], vector)
	sums.Vectorize(lane)
	return s.Err() == nil
}

func unroll(st *te.Stage, axes ...*tir.IterVar) {
	for _, a := range axes {
		st.Unroll(a)
	}
}

// inRegisters writes the vectors of a small tensor out, so that they are in registers as far as there are enough.
func inRegisters(st *te.Stage, lanes int) {
	st.SetScope("local")
	axes := st.Axes()
	last := len(axes) - 1
	vector, lane := st.Split(axes[last], lanes)
	unroll(st, append(axes[:last:last], vector)...)
	st.Vectorize(lane)
}

// winogradSums is the number of blocks of filters and of tiles of the image whose products are summed in registers.
type winogradSums struct{ blocks, rows, columns int64 }

// winogradSumsOf chooses these numbers, which divide the whole ones, with the least work per product.
func winogradSumsOf(v simd, vectors, blocks, rows, columns int64) winogradSums {
	best, least := winogradSums{1, 1, 1}, 0.0
	for n := int64(1); n <= min(blocks, 4); n++ {
		for r := int64(1); r <= min(rows, 8); r++ {
			for c := int64(1); c <= min(columns, 28); c++ {
				loaded, tiles := n*vectors, r*c
				if blocks%n != 0 || rows%r != 0 || columns%c != 0 || loaded*tiles+loaded+1 > int64(v.registers) {
					continue
				}
				if cost := stepCost(loaded, tiles) / float64(n*tiles); least == 0 || cost < least {
					best, least = winogradSums{n, r, c}, cost
				}
			}
		}
	}
	return best
}

package ops

// scheduleFast gives a group the schedule of its shape, for the vectors that the target has: that of sums of products,
// of reductions of rows, or of what is made row by row. False: it has none, or is too small for it.
func scheduleFast(g *Group) bool { return scheduleFor(g, simdOf(g.Target)) }

func scheduleFor(g *Group, v simd) bool {
	if scheduleContraction(g.Schedule, g.Result, g.Root, parts(g), v) {
		return true
	}
	if len(parts(g)) == 0 && scheduleRowSums(g.Schedule, g.Result, g.Root, v) {
		return true
	}
	inner := parts(g)
	if g.Result != g.Root {
		inner = append(inner, g.Result)
	}
	inverse := g.Op != nil && g.Op.InverseDivisor
	return scheduleRows(g.Schedule, g.Root, inner, inverse, v)
}

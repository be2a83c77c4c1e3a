package cpu

import (
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// scheduleWindows schedules a reduction whose last dimension is short and contiguous in what it reads, such as the
// pooling of images with blocked channels: the results of all of it stay in registers while they are reduced. It
// returns false, without a change, for others.
func scheduleWindows(g *schedule.Group, v simd) bool {
	s := g.Schedule
	st := s.Stage(g.Root)
	axes := st.Axes()
	if g.Result != g.Root || len(g.Parts()) > 0 || len(st.ReduceAxes()) == 0 || len(st.Formulas()) != 1 ||
		len(axes) < 3 || !lastIsDense(st) {
		return false
	}
	last, lanes := axes[len(axes)-1], int64(v.lanes(g.Result.ProducerDType()))
	if n := sizeOf(last); lanes == 0 || n < lanes || n%lanes != 0 || n > 4*lanes {
		return false
	}
	much := pointsOf(st) >= parallelFrom
	local := s.Stage(s.CacheWrite(g.Result, "local"))
	st = s.Stage(g.Root)
	axes = st.Axes()
	outer := axes[:len(axes)-1]
	vector, lane := st.Split(axes[len(axes)-1], int(lanes))
	st.Unroll(vector)
	st.Vectorize(lane)
	one := outer[0]
	for _, a := range outer[1:] {
		one = st.Fuse(one, a)
	}
	if much {
		st.Parallel(one)
	}
	local.ComputeAt(st, one)
	axes = local.Axes()
	vector, lane = local.Split(axes[len(axes)-1], int(lanes))
	local.Reorder(append(append([]*tir.IterVar{}, local.ReduceAxes()...), vector, lane)...)
	local.Unroll(vector)
	local.Vectorize(lane)
	return s.Err() == nil
}

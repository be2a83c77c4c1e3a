package transform

import "tvmgo/tir"

// withinBounds handles a condition that differs between lanes in a kernel: comparisons of values that rise or fall from
// lane to lane, as bounds checks do. If they hold in the lane where they are hardest to meet, they hold in all lanes,
// and the body runs as vectors; otherwise it runs iteration by iteration. first is the part of the condition that is
// equal in all lanes, or nil. It returns nil for other conditions and bodies.
func (z *lockstep) withinBounds(first, rest tir.Expr, s *tir.If) tir.Stmt {
	if !z.kernel || s.Else != nil {
		return nil
	}
	all := first
	for _, c := range conjuncts(rest) {
		at, ok := z.hardest(c)
		if !ok {
			return nil
		}
		c = tir.Substitute(c, map[*tir.Var]tir.Expr{z.v: at})
		if all == nil {
			all = c
		} else {
			all = tir.And(all, c)
		}
	}
	serial, ok := z.serial(s)
	if !ok {
		return nil
	}
	before := z.vectors
	then, ok := z.stmt(s.Then)
	if !ok || z.vectors == before {
		return nil
	}
	return &tir.If{Cond: all, Then: then, Else: tir.Copied(serial, nil)}
}

// hardest returns the loop variable's value in the lane in which a comparison is hardest to meet; false if that is not
// known.
func (z *lockstep) hardest(c tir.Expr) (at tir.Expr, ok bool) {
	if call, is := c.(*tir.Call); is && call.Name == "likely" {
		c = call.Args[0]
	}
	b, ok := c.(*tir.Binary)
	if !ok || mayFail(c) || len(z.vars) > 0 || !tir.IsInt(b.A.DType()) {
		return nil, false
	}
	a, lane := b.A, z.lanes-1 // the greatest value on the left, or the least one on the right
	switch b.Op {
	case tir.OpLT, tir.OpLE:
	case tir.OpGT, tir.OpGE:
		lane = 0
	default:
		return nil, false
	}
	if z.same(a) {
		a, lane = b.B, z.lanes-1-lane
	} else if !z.same(b.B) {
		return nil, false
	}
	value, ok := z.value(a)
	ramp, isRamp := value.(*tir.Ramp)
	if !ok || !isRamp {
		return nil, false
	}
	step, ok := tir.IntValue(ramp.Stride)
	if !ok || step == 0 {
		return nil, false
	}
	if step < 0 {
		lane = z.lanes - 1 - lane
	}
	return plus(z.base, int64(lane)), true
}

package tirrun

import (
	"fmt"
	"math/bits"

	"tvmgo/tir"
)

// loop compiles a loop.
func (c *compiler) loop(s *tir.For) func(*frame) control {
	if s.Var == nil {
		c.fail("a loop has no variable")
	}
	if !tir.IsInt(s.Var.Type) || s.Var.Type.Lanes != 1 {
		c.fail("loop variable %s has type %s: want an integer", s.Var.Name, s.Var.Type)
	}
	low := c.size(s.Min, "the start of loop "+s.Var.Name).i
	extent := c.size(s.Extent, "the extent of loop "+s.Var.Name).i
	outside := c.at
	slot := c.define(s.Var)
	c.at = &position{up: outside, name: s.Var.Name, slot: slot}
	at, t := c.at, s.Var.Type
	w := wrapper(t)
	bounds := func(f *frame) (int64, int64) {
		lo, n := low(f), extent(f)
		if last := lo + n - 1; n > 0 && (w(last) != last || last < lo && (lo >= 0 || t.Bits < 64 || tir.IsSigned(t))) {
			f.fail(outside, ErrArithmetic, "loop %s from %d over %d iterations exceeds type %s", s.Var.Name, lo, n, t)
		}
		return lo, n
	}
	var do func(*frame) control
	switch s.Kind {
	case tir.Serial, tir.Vectorized, tir.Unrolled:
		body := c.stmt(s.Body)
		do = func(f *frame) control {
			lo, n := bounds(f)
			for k := range n {
				f.i[slot] = lo + k
				f.step(at)
				if body(f) != proceed {
					return returned
				}
			}
			return proceed
		}
	case tir.Parallel:
		do = c.parallel(s, slot, bounds)
	case tir.ThreadBind:
		do = c.threads(s, slot, bounds)
	default:
		c.fail("loop %s: kind %d does not exist", s.Var.Name, s.Kind)
	}
	c.at = outside
	c.leave(s.Var)
	return do
}

// parallel compiles a loop whose iterations must not access what another one writes.
func (c *compiler) parallel(s *tir.For, slot int, bounds func(*frame) (int64, int64)) func(*frame) control {
	c.loops++
	c.parallels++
	at := c.at
	body := c.stmt(s.Body)
	c.loops--
	c.parallels--
	return func(f *frame) control {
		lo, n := bounds(f)
		iteration := f.x.order(n)
		f.levels = append(f.levels, level{iterations: &iterations{
			epoch: f.x.newEpoch(),
			what:  "iterations of parallel loop " + s.Var.Name,
			name:  func(iteration int32) string { return fmt.Sprintf("iteration %s=%d", s.Var.Name, lo+int64(iteration)-1) },
		}})
		mine := len(f.levels) - 1
		for k := range n {
			i := iteration(k)
			f.i[slot] = lo + i
			f.step(at)
			f.levels[mine].iteration = int32(i) + 1
			body(f)
		}
		f.levels = f.levels[:mine]
		return proceed
	}
}

// order returns a random permutation of n iterations.
func (x *run) order(n int64) func(int64) int64 {
	if n <= 1<<12 {
		p := x.rng.Perm(int(max(n, 0)))
		return func(k int64) int64 { return int64(p[k]) }
	}
	// A step that has no common divisor with n reaches all iterations.
	start, by := x.rng.Uint64N(uint64(n)), x.rng.Uint64N(uint64(n))
	for gcd(by, uint64(n)) != 1 {
		by++
	}
	return func(k int64) int64 {
		high, low := bits.Mul64(uint64(k), by)
		low, carry := bits.Add64(low, start, 0)
		return int64(bits.Rem64(high+carry, low, uint64(n)))
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

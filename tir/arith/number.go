package arith

import (
	"math"
	"math/bits"
)

// Arithmetic on int64 that reports overflow.

func addOK(x, y int64) (int64, bool) {
	z := x + y
	return z, (x < 0) != (y < 0) || (z < 0) == (x < 0)
}

func mulOK(x, y int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(x), magnitude(y))
	if high != 0 || low > 1<<63 {
		return 0, false
	}
	if (x < 0) != (y < 0) {
		return -int64(low), true
	}
	return int64(low), low < 1<<63
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// floorDiv rounds towards minus infinity; y is not 0. Callers exclude the least int64 divided by -1, which overflows.
func floorDiv(x, y int64) int64 {
	if y == -1 {
		return -x
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// floorMod returns the remainder of floorDiv, with the sign of y; y is not 0.
func floorMod(x, y int64) int64 {
	if y == -1 {
		return 0
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// gcd returns the greatest common divisor; gcd(0, 0) is 0. If it does not fit into int64, it returns 1.
func gcd(x, y int64) int64 {
	if x == math.MinInt64 || y == math.MinInt64 {
		return 1
	}
	if x < 0 {
		x = -x
	}
	if y < 0 {
		y = -y
	}
	for y != 0 {
		x, y = y, x%y
	}
	return x
}

// interval is the range from lo to hi, both inclusive. A lo of least means no lower bound, a hi of greatest no upper
// bound. Bounds that leave int64 saturate at its ends, and remain valid bounds.
type interval struct{ lo, hi int64 }

const (
	least    = math.MinInt64
	greatest = math.MaxInt64
)

var everything = interval{least, greatest}

func point(v int64) interval { return interval{v, v} }

func (x interval) within(y interval) bool { return x.lo >= y.lo && x.hi <= y.hi }

func (x interval) union(y interval) interval { return interval{min(x.lo, y.lo), max(x.hi, y.hi)} }

func (x interval) intersect(y interval) interval { return interval{max(x.lo, y.lo), min(x.hi, y.hi)} }

func saturate(v int64, ok, negative bool) int64 {
	switch {
	case ok:
		return v
	case negative:
		return least
	}
	return greatest
}

func (x interval) add(y interval) interval {
	z := everything
	if x.lo != least && y.lo != least {
		v, ok := addOK(x.lo, y.lo)
		z.lo = saturate(v, ok, x.lo < 0)
	}
	if x.hi != greatest && y.hi != greatest {
		v, ok := addOK(x.hi, y.hi)
		z.hi = saturate(v, ok, x.hi < 0)
	}
	return z
}

func (x interval) negate() interval {
	z := everything
	if x.hi != greatest {
		z.lo = saturate(-x.hi, x.hi != least, false)
	}
	if x.lo != least {
		z.hi = -x.lo
	}
	return z
}

func (x interval) scale(c int64) interval {
	if c == 0 {
		return point(0)
	}
	if c < 0 {
		if c == least {
			return everything
		}
		return x.negate().scale(-c)
	}
	z := everything
	if x.lo != least {
		v, ok := mulOK(x.lo, c)
		z.lo = saturate(v, ok, x.lo < 0)
	}
	if x.hi != greatest {
		v, ok := mulOK(x.hi, c)
		z.hi = saturate(v, ok, x.hi < 0)
	}
	return z
}

func (x interval) finite() bool { return x.lo != least && x.hi != greatest }

func (x interval) mul(y interval) interval {
	if x.lo == x.hi {
		return y.scale(x.lo)
	}
	if y.lo == y.hi {
		return x.scale(y.lo)
	}
	if !x.finite() || !y.finite() {
		if x.lo >= 0 && y.lo >= 0 {
			v, ok := mulOK(x.lo, y.lo)
			return interval{saturate(v, ok, false), greatest}
		}
		return everything
	}
	a, b := y.scale(x.lo), y.scale(x.hi)
	return a.union(b)
}

// divide returns the quotients of x and the values of y other than 0. div must be monotonic in its first operand.
func (x interval) divide(y interval, div func(n, d int64) int64) interval {
	z, some := interval{}, false
	join := func(r interval) {
		if some {
			r = r.union(z)
		}
		z, some = r, true
	}
	if y.hi >= 1 {
		join(x.dividePositive(interval{max(y.lo, 1), y.hi}, div))
	}
	if y.lo <= -1 {
		n := y.negate()
		join(x.negate().dividePositive(interval{max(n.lo, 1), n.hi}, div))
	}
	if !some {
		return everything
	}
	return z
}

func (x interval) dividePositive(y interval, div func(n, d int64) int64) interval {
	far := func(n int64) int64 { // the limit for divisors of unlimited size
		if y.hi != greatest {
			return div(n, y.hi)
		}
		if n >= 0 {
			return 0
		}
		return div(-1, 2)
	}
	z := everything
	if x.lo != least {
		z.lo = min(div(x.lo, y.lo), far(x.lo))
	}
	if x.hi != greatest {
		z.hi = max(div(x.hi, y.lo), far(x.hi))
	}
	return z
}

func (x interval) floorMod(y interval) interval {
	if y.lo >= 1 {
		if y.lo == y.hi && x.finite() && floorDiv(x.lo, y.lo) == floorDiv(x.hi, y.lo) {
			return interval{floorMod(x.lo, y.lo), floorMod(x.hi, y.lo)}
		}
		z := interval{0, greatest}
		if y.hi != greatest {
			z.hi = y.hi - 1
		}
		if x.lo >= 0 {
			z.hi = min(z.hi, x.hi)
			if x.hi < y.lo {
				z.lo = x.lo
			}
		}
		return z
	}
	if y.hi <= -1 {
		return x.negate().floorMod(y.negate()).negate()
	}
	return x.floorMod(interval{1, max(y.hi, 1)}).union(x.floorMod(interval{min(y.lo, -1), -1}))
}

func (x interval) truncMod(y interval) interval {
	m := interval{least, greatest}
	if y.finite() && y.lo != least+1 {
		m.hi = max(magnitudeOf(y.lo), magnitudeOf(y.hi)) - 1
		m.lo = -m.hi
	}
	if m.hi < 0 {
		return everything
	}
	if x.lo >= 0 {
		z := interval{0, min(m.hi, x.hi)}
		if y.lo > x.hi {
			z.lo = x.lo
		}
		return z
	}
	if x.hi <= 0 {
		return interval{max(m.lo, x.lo), 0}
	}
	return interval{max(m.lo, x.lo), min(m.hi, x.hi)}
}

func magnitudeOf(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

package explain

import (
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// A value that is loaded from one position by all threads of a warp is unknown, but the same for all of them. What is
// computed from it is a known value plus a multiple of a known unit (lanes.unit): the row of a table that all threads
// read begins at a multiple of the row's length, and the columns are known.

// unknownOf is an unknown value that all threads share.
func unknownOf(unit int64) lanes { return lanes{unit: unit} }

// shared reports whether the unknown part of a value, if it has one, is the same for all threads.
func (v lanes) shared() bool { return v.known || v.unit > 0 }

// uniform reports whether the whole value is the same for all threads.
func (v lanes) uniform() bool { return v.shared() && v.each == nil }

// part is the known part of a value.
func (v lanes) part() lanes { return lanes{known: true, one: v.one, each: v.each} }

// plusMultiple is a known value plus an unknown multiple of a unit.
func (v lanes) plusMultiple(unit int64) lanes {
	if !v.known || unit == 0 {
		return v
	}
	return lanes{one: v.one, each: v.each, unit: unit}
}

// combined is of, also for values that are unknown, but the same for all threads.
func (w *warp) combined(op tir.BinaryOp, a, b lanes) lanes {
	f := binaries[op]
	switch {
	case f == nil || !a.shared() || !b.shared():
		return lanes{}
	case a.known && b.known:
		return of(a, b, w.threads, f)
	case op == tir.OpAdd || op == tir.OpSub:
		return of(a.part(), b.part(), w.threads, f).plusMultiple(gcd(a.unit, b.unit))
	case op == tir.OpMul && b.known && b.each == nil:
		return of(a.part(), b, w.threads, f).plusMultiple(a.unit * max(b.one, -b.one))
	case op == tir.OpMul && a.known && a.each == nil:
		return of(a, b.part(), w.threads, f).plusMultiple(b.unit * max(a.one, -a.one))
	case a.uniform() && b.uniform():
		return unknownOf(1)
	}
	return lanes{}
}

// loaded is the value of a load: the same for all threads if they load the same element of memory that they share.
func (w *warp) loaded(e *tir.BufferLoad) lanes {
	scope := e.Buffer.StorageScope()
	if e.DType().Lanes != 1 || !tir.IsInt(e.DType()) || !watched(scope) {
		return lanes{}
	}
	for _, x := range e.Indices {
		if !w.eval(x, 0).uniform() {
			return lanes{}
		}
	}
	return unknownOf(1)
}

// unknownRequests adds the requests of an access whose position depends on loaded values.
func (w *warp) unknownRequests(s *site, b *tir.Buffer, indices []tir.Expr, at []lanes, element int64) {
	s.DataDependent, w.k.estimated = true, w.k.estimated || s.Scope != "shared"
	n := int64(1)
	if arith.Contiguous(b, indices) {
		aligned := w.k.multiples.Element(b, indices)
		for 2*n <= aligned && int64(len(at))%(2*n) == 0 && 2*n*element <= requestBytes {
			n *= 2
		}
	}
	first := at[0]
	if first.unit == 0 || first.unit%bankBytes != 0 || n == 1 && len(at) > 1 {
		w.request(s, nil, n*element, float64(int64(len(at))/n))
		return
	}
	for from := int64(0); from < int64(len(at)); from += n {
		// Sectors depend on where the unknown part begins within one: the worst position counts.
		var worst []piece
		most := int64(0)
		for shift := int64(0); shift < sectorBytes; shift += gcd(first.unit, sectorBytes) {
			request := make([]piece, w.threads)
			var some []piece
			for i := range request {
				if w.active[i] {
					request[i] = piece{first.at(i) + from*element + shift, n * element}
					some = append(some, request[i])
				}
			}
			if len(some) == 0 {
				return
			}
			if touched, _ := sectors(some); touched > most {
				most, worst = touched, request
			}
		}
		w.request(s, worst, n*element, 1)
	}
}

// gcd is the greatest common divisor of two numbers that are not negative.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

//go:build cgo

package ops

import (
	"fmt"
	"math"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/te"
	"tvmgo/tir"
)

func small(code uint8, bits int) tir.Type { return tir.Type{Code: code, Bits: uint8(bits), Lanes: 1} }

var (
	powers      = small(dlpack.CodeFloat8E8M0FNU, 8)
	smallFloats = []tir.Type{small(dlpack.CodeFloat8E4M3FN, 8), small(dlpack.CodeFloat8E4M3FNUZ, 8),
		small(dlpack.CodeFloat8E5M2, 8), small(dlpack.CodeFloat8E5M2FNUZ, 8), small(dlpack.CodeFloat4E2M1FN, 4),
		small(dlpack.CodeFloat8E3M4, 8), small(dlpack.CodeFloat8E4M3, 8), small(dlpack.CodeFloat8E4M3B11FNUZ, 8),
		small(dlpack.CodeFloat6E2M3FN, 6), small(dlpack.CodeFloat6E3M2FN, 6)}
	smallInts = []tir.Type{small(dlpack.CodeInt, 4), small(dlpack.CodeUInt, 4), small(dlpack.CodeInt, 2),
		small(dlpack.CodeUInt, 2)}
)

// codesOf returns the values of all codes of a type.
func codesOf(t tir.Type) *nd {
	a := &nd{t: t, shape: []int{1 << t.Bits}}
	for code := range 1 << t.Bits {
		v := float64(code)
		switch {
		case tir.IsFloat(t):
			v = tir.FloatOfBits(t, uint8(code))
		case tir.IsSigned(t):
			v = float64(int8(code<<(8-t.Bits)) >> (8 - t.Bits))
		}
		a.v = append(a.v, v)
	}
	return a
}

// nearestOf is the reference of casts to a small float but float8_e8m0fnu: of all values of the type and one that is
// too large, the nearest; of two, the one whose code is even.
func nearestOf(t tir.Type, saturate bool) func(v float64) float64 {
	var sizes []float64 // by code
	format, _ := tir.FormatOf(t)
	for code := 0; len(sizes) == 0 || sizes[code-1] < format.Greatest; code++ {
		sizes = append(sizes, tir.FloatOfBits(t, uint8(code)))
	}
	n := len(sizes)
	sizes = append(sizes, 2*sizes[n-1]-sizes[n-2])
	return func(v float64) float64 {
		if v != v {
			if format.NaN {
				return v
			}
			return math.Copysign(0, -1)
		}
		best, of := 0, min(math.Abs(v), 2*sizes[n]) // so that differences are exact
		for code, size := range sizes {
			near, now := math.Abs(sizes[best]-of), math.Abs(size-of)
			if now < near || now == near && code%2 == 0 {
				best = code
			}
		}
		size := sizes[best]
		if best == n {
			switch {
			case saturate || !format.NaN:
				size = format.Greatest
			case format.Inf:
				size = math.Inf(1)
			default:
				return math.NaN()
			}
		}
		if size == 0 && format.NoMinus0 {
			return 0
		}
		return math.Copysign(size, v)
	}
}

// powerOf is the reference of casts to float8_e8m0fnu.
func powerOf(r Rounding) func(v float64) float64 {
	const least, greatest = 0x1p-127, 0x1p127
	return func(v float64) float64 {
		switch {
		case v != v:
			return v
		case v < least && r.Saturate:
			return least
		case v < least:
			return math.NaN()
		case v > greatest && r.Saturate:
			return greatest
		}
		power := least
		for power*2 <= min(v, math.MaxFloat64/2) {
			power *= 2
		}
		if r.Powers == "up" && power < v || r.Powers == "nearest" && v-power >= 2*power-v {
			power *= 2
		}
		if power > greatest {
			return math.NaN()
		}
		return power
	}
}

// around returns values of a type at and between those of another one, and beyond them.
func around(from, to tir.Type) *nd {
	if from == tir.Bool {
		return &nd{from, []int{2}, []float64{0, 1}}
	}
	values := []float64{0, 1, 2, 3, 7, 8, 9, 15, 16, 100, 127, 128, 255, 448, 464, 465, 480, 57344, 61439, 61440, 65535,
		1 << 20, 1<<31 - 1}
	exact := codesOf(to).v
	for code, v := range exact {
		if code == 0 || v <= 0 || math.IsInf(v, 0) || v != v {
			continue
		}
		middle := (v + exact[code-1]) / 2
		values = append(values, v, middle, middle*(1+0x1p-20), middle*(1-0x1p-20), v*(1+0x1p-5))
	}
	a := &nd{t: from}
	if tir.IsFloat(from) {
		a.v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), rounded16(from, 1e-7),
			rounded16(from, 6e4), limitOf(from, true)}
	} else {
		a.v = []float64{limitOf(from, false)}
		if from.Bits < 64 {
			a.v = append(a.v, limitOf(from, true))
		}
	}
	for _, v := range values {
		for _, signed := range []float64{v, -v} {
			if tir.IsInt(from) && signed != math.Trunc(signed) || math.IsInf(rounded16(from, v), 0) ||
				signed < limitOf(from, false) || signed > limitOf(from, true) {
				continue
			}
			a.v = append(a.v, rounded16(from, signed))
		}
	}
	a.shape = []int{len(a.v)}
	return a
}

// castCase is the cast of all elements, by a reference for one.
func castCase(x *nd, to tir.Type, r *Rounding, of func(v float64) float64) opCase {
	c := opCase{name: fmt.Sprintf("%s as %s, %v", x.t, to, r), ins: []*nd{x}, want: &nd{to, x.shape, nil}}
	for _, v := range x.v {
		c.want.v = append(c.want.v, of(v))
	}
	c.make = func(x []*te.Tensor) *te.Tensor {
		if r == nil {
			return Cast(x[0], to, "Y")
		}
		return CastTo(x[0], to, *r, "Y")
	}
	return c
}

var _ = valueCases("smallcast", smallcastCases)

// smallcastCases are casts from all values of the types of at most 8 bits, and to these types with all roundings.
func smallcastCases() (cases []opCase) {
	add := func(x *nd, to tir.Type, r *Rounding, of func(v float64) float64) {
		cases = append(cases, castCase(x, to, r, of))
	}
	same := func(v float64) float64 { return v }
	for k, t := range append(append([]tir.Type{powers}, smallFloats...), smallInts...) {
		x := codesOf(t)
		for _, to := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16} {
			add(x, to, nil, func(v float64) float64 { return rounded16(to, v) })
		}
		to := []tir.Type{tir.Int32, tir.UInt8, tir.Int8, tir.Int64, tir.Bool}[k%5]
		if tir.IsInt(to) && tir.IsFloat(t) {
			add(x, to, nil, func(v float64) float64 {
				if v != v {
					return 0
				}
				return min(max(math.Trunc(v), limitOf(to, false)), limitOf(to, true))
			})
		} else {
			add(x, to, nil, func(v float64) float64 { return rounded16(to, v) })
		}
	}
	sources := []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16, tir.Int8, tir.UInt8, tir.Int16, tir.Int32,
		tir.UInt32, tir.Int64, tir.UInt64, tir.Bool}
	for k, to := range smallFloats {
		for n, from := range sources {
			if n > 0 && (n+k)%4 != 0 { // not all of them: compiling takes most of the time
				continue
			}
			for _, saturate := range []bool{false, true} {
				if n == 0 || saturate == (n/4%2 == 0) {
					add(around(from, to), to, &Rounding{Saturate: saturate}, nearestOf(to, saturate))
				}
			}
		}
	}
	for k, mode := range roundings {
		for n, from := range sources {
			if r := (Rounding{Saturate: n%2 == 0, Powers: mode}); n < 2 || (n+k)%3 == 0 {
				add(around(from, powers), powers, &r, powerOf(r))
			}
		}
	}
	for _, to := range smallInts {
		for _, from := range []tir.Type{tir.Float32, tir.Float16, tir.Int8, tir.UInt8, tir.Int64} {
			x := around(from, small(dlpack.CodeFloat8E4M3FN, 8))
			add(x, to, nil, func(v float64) float64 {
				if v != v {
					return 0
				}
				low := int64(min(max(v, math.MinInt32), math.MaxInt32)) & (1<<to.Bits - 1)
				if from == tir.Int64 {
					low = int64(v) & (1<<to.Bits - 1)
				}
				return codesOf(to).v[low]
			})
		}
	}
	// from one small type to another
	add(codesOf(smallInts[0]), smallFloats[4], &Rounding{}, nearestOf(smallFloats[4], false))
	add(codesOf(smallFloats[2]), smallFloats[0], &Rounding{Saturate: true}, nearestOf(smallFloats[0], true))
	add(codesOf(powers), smallFloats[0], &Rounding{}, nearestOf(smallFloats[0], false))
	add(codesOf(smallFloats[4]), smallFloats[3], &Rounding{}, func(v float64) float64 { return v + 0 })
	add(codesOf(smallInts[1]), smallInts[1], nil, same)
	return cases
}

// Elements that share bytes are written by one thread of a device.
func TestCast_PackedOnDevices(t *testing.T) {
	var cases []opCase
	for _, c := range smallcastCases() {
		if tir.SharesBytes(c.want.t) && c.ins[0].t == tir.Float32 {
			cases = append(cases, c)
		}
	}
	total := &nd{smallInts[0], []int{3}, []float64{3, 7, -5}}
	x := &nd{smallInts[0], []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}}
	cases = append(cases, opCase{name: "sum", ins: []*nd{x}, want: total, make: func(x []*te.Tensor) *te.Tensor {
		return Cast(Sum(Cast(x[0], tir.Int32, "W"), "S", []int{1}, false), smallInts[0], "Y")
	}})
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan, dlpack.CUDA} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, to := range deviceTargets(t, kind)[:1] {
				runOnDevice(t, cases, to)
			}
		})
	}
}

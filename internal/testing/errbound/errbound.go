// Package errbound computes how far results may be from exact ones: tests compute in float64 with numbers that carry a
// bound of the error that the same steps make in a narrower format, in whatever order sums are added. A tolerance is
// thus derived from the inputs, not guessed.
package errbound

import "math"

// Number is a value, and a bound of the distance from it at which the computed one may be. The error of an infinite
// value or NaN is 0: the computed one is the same.
type Number struct{ Value, Error float64 }

// Exact returns numbers without errors, such as inputs.
func Exact(values ...float64) []Number {
	all := make([]Number, len(values))
	for i, v := range values {
		all[i].Value = v
	}
	return all
}

// Has reports whether a computed value is within the bound.
func (n Number) Has(computed float64) bool {
	switch {
	case math.IsNaN(n.Value):
		return math.IsNaN(computed)
	case math.IsInf(n.Value, 0):
		return computed == n.Value
	}
	return math.Abs(computed-n.Value) <= n.Error
}

// Format is a floating-point format with rounding to the nearest and without flushing of subnormal numbers. A product
// and a sum that become one instruction are rounded once, which keeps within the bounds.
type Format struct {
	unit  float64 // the greatest relative error of a rounding
	tiny  float64 // the greatest error of a rounding to a subnormal number
	slack float64 // what the computation in float64 adds, relative
}

// Float32 is IEEE 754's binary32.
var Float32 = Format{unit: 0x1p-24, tiny: 0x1p-150, slack: 0x1p-45}

// rounded is a value with the error of its operands and of n roundings.
func (f Format) rounded(value, err float64, n float64) Number {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return Number{Value: value}
	}
	most := math.Abs(value) + err
	return Number{value, err + most*f.gamma(n) + n*f.tiny + most*f.slack}
}

// gamma bounds the relative error of n roundings in a row: n·u / (1 - n·u).
func (f Format) gamma(n float64) float64 { return n * f.unit / (1 - n*f.unit) }

// Add is a + b.
func (f Format) Add(a, b Number) Number { return f.rounded(a.Value+b.Value, a.Error+b.Error, 1) }

// Sub is a - b.
func (f Format) Sub(a, b Number) Number { return f.rounded(a.Value-b.Value, a.Error+b.Error, 1) }

// Mul is a · b.
func (f Format) Mul(a, b Number) Number {
	return f.rounded(a.Value*b.Value, math.Abs(a.Value)*b.Error+math.Abs(b.Value)*a.Error+a.Error*b.Error, 1)
}

// Div is a / b, or a · (1 / b). The error of b is less than b.
func (f Format) Div(a, b Number) Number {
	least := math.Abs(b.Value) - b.Error
	return f.rounded(a.Value/b.Value, (a.Error+math.Abs(a.Value/b.Value)*b.Error)/least, 2)
}

// Sqrt is √a.
func (f Format) Sqrt(a Number) Number {
	v := math.Sqrt(a.Value)
	below, above := v-math.Sqrt(math.Max(a.Value-a.Error, 0)), math.Sqrt(a.Value+a.Error)-v
	return f.rounded(v, math.Max(below, above), 1)
}

// Exp is e to the power of a by a function that is within one unit in the last place, which is two roundings.
func (f Format) Exp(a Number) Number {
	v := math.Exp(a.Value)
	return f.rounded(v, v*math.Expm1(a.Error), 2)
}

// Sum is the sum of numbers in any order.
func (f Format) Sum(all []Number) Number {
	value, size, err := 0.0, 0.0, 0.0
	for _, n := range all {
		value += n.Value
		size += math.Abs(n.Value) + n.Error
		err += n.Error
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return Number{Value: value}
	}
	return Number{value, err + size*(f.gamma(float64(max(len(all)-1, 0)))+f.slack)}
}

// Dot is the sum of the products of two lists in any order.
func (f Format) Dot(a, b []Number) Number {
	products := make([]Number, len(a))
	for i := range a {
		products[i] = f.Mul(a[i], b[i])
	}
	return f.Sum(products)
}

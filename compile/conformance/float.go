package conformance

import (
	"encoding/binary"
	"math"

	"tvmgo/dlpack"
)

// decode returns floats as float64.
func decode(dt dlpack.DataType, data []byte) []float64 {
	width := int(dt.Bits) / 8
	out := make([]float64, len(data)/width)
	for i := range out {
		b := data[i*width:]
		switch dt {
		case dlpack.Float64:
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case dlpack.Float32:
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case dlpack.Float16:
			out[i] = float64(dlpack.Float16Bits(binary.LittleEndian.Uint16(b)).Float32())
		case dlpack.BFloat16:
			out[i] = float64(dlpack.BFloat16Bits(binary.LittleEndian.Uint16(b)).Float32())
		}
	}
	return out
}

// difference is the difference of two numbers, relative to the tolerance. NaN equals NaN.
func difference(got, want float64, o Options) float64 {
	switch {
	case math.IsNaN(got) && math.IsNaN(want), got == want:
		return 0
	case math.IsNaN(got), math.IsNaN(want), math.IsInf(got, 0), math.IsInf(want, 0):
		return math.Inf(1)
	}
	return math.Abs(got-want) / (o.Absolute + o.Relative*math.Abs(want))
}

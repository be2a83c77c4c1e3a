package suite

import (
	"encoding/binary"
	"fmt"
	"math"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// coefficients returns a, b[0] and b[1]. Integers wrap around, so that they can be any.
func (p *peakKernel) coefficients() []float64 {
	if p.madd == dot {
		return []float64{packed(1, -2, 3, 100), packed(5, 7, -11, 13), packed(-3, 2, 1, 127)}
	}
	if tir.IsInt(p.t) {
		return []float64{1664525, 1013904223, 12345}
	}
	return []float64{-1, 1, 2}
}

// begins returns the first values of the chains of a group: small integers, which differ between neighbors.
func (p *peakKernel) begins() []float64 {
	list := make([]float64, p.initial())
	for i := range list {
		list[i] = float64((i*5 + i/7) % 4)
	}
	return list
}

// reference computes the results of a group, step by step. Floats are exact, because each value is an integer that the
// type represents.
func (p *peakKernel) reference() []float64 {
	list := make([]float64, p.results())
	c := p.coefficients()
	for i, x := range p.begins() {
		item, element := i/(p.chains*p.width), i%p.width
		to := &list[item*p.stores()+element%p.stores()]
		if tir.IsInt(p.t) {
			*to = float64(int32(uint32(int32(*to)) + p.chainOfInts(uint32(x), c)))
			continue
		}
		for range p.periods {
			for _, which := range period {
				x = c[0]*x + c[1+which]
			}
		}
		*to += x
	}
	return list
}

// chainOfInts computes a chain modulo 2³².
func (p *peakKernel) chainOfInts(x uint32, c []float64) uint32 {
	a, b := int32(c[0]), [2]int32{int32(c[1]), int32(c[2])}
	for range p.periods {
		for _, which := range period {
			if p.madd == dot {
				for at := 0; at < 32; at += 8 {
					x += uint32(int32(int8(a>>at)) * int32(int8(b[which]>>at)))
				}
				continue
			}
			x = uint32(a)*x + uint32(b[which])
		}
	}
	return x
}

// packed returns the int32 with four bytes, the first one lowest.
func packed(v ...int8) float64 {
	bits := uint32(0)
	for i, b := range v {
		bits |= uint32(uint8(b)) << (8 * i)
	}
	return float64(int32(bits))
}

// newArray returns a tensor with the given values, which Close of the calls frees.
func newArray(c *bench.Calls, t tir.Type, values []float64) (*runtime.Tensor, error) {
	x, err := runtime.NewTensor(dlpack.DataType(t), []int64{int64(len(values))}, c.On)
	if err != nil {
		return nil, err
	}
	c.Free = append(c.Free, x.Close)
	var data []byte
	for _, v := range values {
		if data, err = appendValue(data, t, v); err != nil {
			return nil, err
		}
	}
	return x, x.CopyFromBytes(data)
}

func appendValue(to []byte, t tir.Type, v float64) ([]byte, error) {
	switch t {
	case tir.Float16:
		return binary.NativeEndian.AppendUint16(to, uint16(dlpack.Float16Of(v))), nil
	case tir.BFloat16:
		return binary.NativeEndian.AppendUint16(to, uint16(dlpack.BFloat16Of(v))), nil
	case tir.Float32:
		return binary.NativeEndian.AppendUint32(to, math.Float32bits(float32(v))), nil
	case tir.Float64:
		return binary.NativeEndian.AppendUint64(to, math.Float64bits(v)), nil
	case tir.Int32:
		return binary.NativeEndian.AppendUint32(to, uint32(int32(v))), nil
	case tir.Int8:
		return append(to, byte(int8(v))), nil
	}
	return nil, fmt.Errorf("an array of %s", tir.TypeName(t))
}

// valuesOf returns the elements of a tensor.
func valuesOf(x *runtime.Tensor) ([]float64, error) {
	data := make([]byte, x.Size())
	if err := x.CopyToBytes(data); err != nil {
		return nil, err
	}
	list := make([]float64, x.Len())
	for i := range list {
		switch at := data[i*len(data)/len(list):]; tir.Type(x.DType()) {
		case tir.Float16:
			list[i] = float64(dlpack.Float16Bits(binary.NativeEndian.Uint16(at)).Float32())
		case tir.Float32:
			list[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(at)))
		case tir.Float64:
			list[i] = math.Float64frombits(binary.NativeEndian.Uint64(at))
		case tir.Int32:
			list[i] = float64(int32(binary.NativeEndian.Uint32(at)))
		default:
			return nil, fmt.Errorf("an array of %v", x.DType())
		}
	}
	return list, nil
}

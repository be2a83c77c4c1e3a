//go:build cgo

package ops

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"tvmgo/te"
	"tvmgo/tir"
)

// dftBy transforms a signal, cut off or filled up with zeros, by the definition.
func dftBy(signal []complex128, length int, inverse bool) []complex128 {
	out := make([]complex128, length)
	for k := range out {
		for n := range min(length, len(signal)) {
			angle := -2 * math.Pi * float64(k*n%length) / float64(length)
			if inverse {
				angle = -angle
			}
			out[k] += signal[n] * cmplx.Exp(complex(0, angle))
		}
		if inverse {
			out[k] /= complex(float64(length), 0)
		}
	}
	return out
}

// signalAt returns the signal along an axis.
func signalAt(x *nd, i []int, axis int) (signal []complex128) {
	last := len(x.shape) - 1
	at := slices.Clone(i)
	for n := range x.shape[axis] {
		at[axis], at[last] = n, 0
		v := complex(x.at(at...), 0)
		if x.shape[last] == 2 {
			at[last] = 1
			v += complex(0, x.at(at...))
		}
		signal = append(signal, v)
	}
	return signal
}

func part(v complex128, n int) float64 {
	if n == 0 {
		return real(v)
	}
	return imag(v)
}

var _ = valueCases("dft", dftCases)

func dftCases() (cases []opCase) {
	add := func(t tir.Type, shape []int, a DFTAttrs) {
		x := sample(t, shape...)
		last, axis := len(shape)-1, (a.Axis+len(shape))%len(shape)
		result := slices.Clone(shape)
		result[axis], result[last] = a.Length, 2
		if a.OneSided && a.Inverse {
			result[last] = 1
		} else if a.OneSided {
			result[axis] = a.Length/2 + 1
		}
		tol := 50 * tolerance(t)
		cases = append(cases, opCase{name: fmt.Sprintf("%+v of %v of %s", a, shape, t), ins: []*nd{x}, tol: tol,
			want: each(t, result, func(i []int) float64 {
				signal := signalAt(x, i, axis)
				if a.OneSided && a.Inverse { // the other side is conjugate
					half := append(signal, make([]complex128, a.Length)...)[:a.Length/2+1]
					signal = make([]complex128, a.Length)
					for k := range signal {
						if signal[k] = half[min(k, a.Length-k)]; k > a.Length/2 {
							signal[k] = cmplx.Conj(signal[k])
						}
					}
					signal[0] = complex(real(signal[0]), 0)
					if a.Length%2 == 0 {
						signal[a.Length/2] = complex(real(signal[a.Length/2]), 0)
					}
				}
				return rounded16(t, part(dftBy(signal, a.Length, a.Inverse)[i[axis]], i[last]))
			}), make: func(x []*te.Tensor) *te.Tensor { return DFT(x[0], "Y", a) }})
	}
	f := tir.Float32
	for _, parts := range []int{1, 2} {
		for _, length := range []int{5, 8, 12, 1} {
			add(f, []int{2, 8, parts}, DFTAttrs{Axis: 1, Length: length})
			add(f, []int{2, 8, parts}, DFTAttrs{Axis: -2, Length: length, Inverse: true})
			add(f, []int{3, 2, parts}, DFTAttrs{Axis: 0, Length: length, OneSided: true})
			add(f, []int{2, 5, parts}, DFTAttrs{Axis: 1, Length: length, Inverse: true, OneSided: true})
		}
	}
	add(tir.Float64, []int{2, 3, 6, 2}, DFTAttrs{Axis: 1, Length: 7})
	add(tir.Float16, []int{2, 6, 1}, DFTAttrs{Axis: 1, Length: 6})
	return cases
}

var _ = valueCases("stft", stftCases)

func stftCases() (cases []opCase) {
	add := func(t tir.Type, length, parts, window int, a STFTAttrs) {
		x, w := sample(t, 2, length, parts), sample(t, window)
		shape := []int{2, (length-a.Length)/a.Step + 1, a.Length, 2}
		if a.OneSided {
			shape[2] = a.Length/2 + 1
		}
		ins := []*nd{x}
		if window > 0 {
			ins = append(ins, w)
		}
		cases = append(cases, opCase{name: fmt.Sprintf("%+v of %d of %s, %d parts, window %d", a, length, t, parts, window),
			ins: ins, tol: 50 * tolerance(t), want: each(t, shape, func(i []int) float64 {
				frame := slices.Clone(signalAt(x, []int{i[0], 0, 0}, 1)[i[1]*a.Step:][:a.Length])
				if window > 0 {
					frame = frame[:window]
					for n := range frame {
						frame[n] *= complex(w.v[n], 0)
					}
				}
				return rounded16(t, part(dftBy(frame, a.Length, false)[i[2]], i[3]))
			}), make: func(x []*te.Tensor) *te.Tensor {
				if window > 0 {
					return STFT(x[0], x[1], "Y", a)
				}
				return STFT(x[0], nil, "Y", a)
			}})
	}
	add(tir.Float32, 20, 1, 8, STFTAttrs{Length: 8, Step: 3, OneSided: true})
	add(tir.Float32, 17, 1, 0, STFTAttrs{Length: 5, Step: 4})
	add(tir.Float64, 16, 2, 6, STFTAttrs{Length: 8, Step: 8})
	return cases
}

var _ = valueCases("signalwindows", signalwindowsCases)

func signalwindowsCases() (cases []opCase) {
	for n, w := range []struct {
		name string
		make func(size tir.Expr, periodic bool, t tir.Type, name string) *te.Tensor
		at   func(turn float64) float64
	}{
		{"hann", HannWindow, func(turn float64) float64 { return 0.5 - 0.5*math.Cos(2*math.Pi*turn) }},
		{"hamming", HammingWindow, func(turn float64) float64 { return (25 - 21*math.Cos(2*math.Pi*turn)) / 46 }},
		{"blackman", BlackmanWindow, func(turn float64) float64 {
			return 0.42 - 0.5*math.Cos(2*math.Pi*turn) + 0.08*math.Cos(4*math.Pi*turn)
		}},
	} {
		for k, size := range []int{10, 7, 1} {
			t, periodic := floatTypes[(n+k+1)%4], (n+k)%2 == 0
			period := float64(size)
			if !periodic {
				period--
			}
			x := sample(t, size) // an input, which the cases need
			cases = append(cases, opCase{name: fmt.Sprintf("%s of %d of %s, periodic %v", w.name, size, t, periodic),
				ins: []*nd{x}, tol: 4 * tolerance(t), want: filled(t, []int{size}, func(i int) float64 {
					if size == 1 && !periodic {
						return x.v[i]
					}
					return x.v[i] * rounded16(t, w.at(float64(i)/period))
				}), make: func(x []*te.Tensor) *te.Tensor {
					return Multiply(x[0], w.make(x[0].ProducerShape()[0], periodic, t, "W"), "Y")
				}})
		}
	}
	return cases
}

var _ = anySizeCase("stft", func() openCase {
	o := openCase{sizes: []string{"n l _"}}
	for _, s := range [][2]int{{2, 9}, {0, 5}, {3, 40}} {
		x := sample(tir.Float32, s[0], s[1], 1)
		o.calls = append(o.calls, opCase{name: "stft", ins: []*nd{x}, tol: 1e-4, want: each(x.t, []int{s[0], (s[1]-4)/2 + 1,
			3, 2}, func(i []int) float64 {
			return part(dftBy(signalAt(x, []int{i[0], 0, 0}, 1)[2*i[1]:][:4], 4, false)[i[2]], i[3])
		}), make: func(x []*te.Tensor) *te.Tensor {
			return STFT(x[0], nil, "Y", STFTAttrs{Length: 4, Step: 2, OneSided: true})
		}})
	}
	return o
})

func TestDFT_Errors(t *testing.T) {
	x, ints := placeholder("x", 2, 6, 1), te.Placeholder(te.Dims(2, 6, 1), tir.Int32, "i")
	refused(t, []refusal{
		{DFT(x, "y", DFTAttrs{Axis: 3, Length: 1}), "axis 3 of tensor x does not exist"},
		{DFT(x, "y", DFTAttrs{Axis: 2, Length: 1}), "a transform of length 1 of axis 2 of tensor x: want a length of 1 to"},
		{DFT(x, "y", DFTAttrs{Axis: 1}), "a transform of length 0 of axis 1"},
		{DFT(placeholder("z", 2, 3), "y", DFTAttrs{Length: 1}), "tensor z has shape [2, 3]: want 2 dimensions or more, and " +
			"a last one of 1 for real, or 2 for complex numbers"},
		{DFT(ints, "y", DFTAttrs{Length: 1}), "tensor i has type int32: want floats"},
		{STFT(x, nil, "y", STFTAttrs{Length: 2}), "frames of 2 elements in steps of 0: want 1 to 1048576"},
		{STFT(x, placeholder("w", 3), "y", STFTAttrs{Length: 2, Step: 1}), "the window w has 3 elements, and frames have 2"},
		{STFT(x, te.Placeholder(te.Dims(2), tir.Float64, "w"), "y", STFTAttrs{Length: 2, Step: 1}), "cast one of them"},
		{HannWindow(tir.I32(3), true, tir.Int32, "y"), "the window has type int32: want floats"},
	})
}

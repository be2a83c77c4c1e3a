package ops

import (
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// DFTAttrs holds the options of DFT.
type DFTAttrs struct {
	Axis     int  // of the signals: not the last one
	Length   int  // of the transform: signals are cut off, or filled up with zeros
	Inverse  bool // from frequencies to a signal, divided by Length
	OneSided bool // only the frequencies 0 … Length/2, of the result or, if Inverse is set, of x
}

// DFT is the discrete Fourier transform of each signal along an axis. The last dimension of x has size 1, for real
// signals, or 2, for the real and the imaginary parts; that of the result has size 2, or 1 for the inverse of one-sided
// frequencies, which is real. It is computed by the definition, in Length² steps; 16-bit floats in float32.
func DFT(x *te.Tensor, name string, a DFTAttrs) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	parts, bad := checkSignal(name, x)
	if bad != nil {
		return bad
	}
	d, bad := axisOf(name, x, a.Axis, len(s))
	if bad != nil {
		return bad
	}
	if d == len(s)-1 || a.Length < 1 || a.Length > 1<<20 {
		return failed(name, "a transform of length %d of axis %d of tensor %s: want a length of 1 to %d, and an axis before "+
			"the last one", a.Length, d, x.ProducerName(), 1<<20)
	}
	f := &fourier{name: name, length: a.Length, parts: parts, inverse: a.Inverse, work: workType(x.ProducerDType())}
	shape := slices.Clone(s)
	shape[d], shape[len(s)-1] = like(s[d], a.Length), like(s[len(s)-1], 2)
	used := a.Length // of x
	switch {
	case a.OneSided && a.Inverse:
		f.mirrored, used, shape[len(s)-1] = true, a.Length/2+1, like(s[len(s)-1], 1)
	case a.OneSided:
		shape[d] = like(s[d], a.Length/2+1)
	}
	read := func(i []tir.Expr, k tir.Expr, part int) tir.Expr {
		at := slices.Clone(i)
		at[d], at[len(s)-1] = k, like(s[len(s)-1], part)
		return castTo(f.work, x.At(at...))
	}
	y := f.transform(shape, d, simplified(tir.Min(s[d], like(s[d], used))), read)
	return f.finish(y, x, "dft", &a)
}

// checkSignal returns the size of the last dimension, 1 or 2, of a tensor of floats.
func checkSignal(name string, x *te.Tensor) (int, *te.Tensor) {
	if bad := floats.of(name, x); bad != nil {
		return 0, bad
	}
	s := x.ProducerShape()
	if len(s) >= 2 && isOne(s[len(s)-1]) {
		return 1, nil
	}
	if len(s) >= 2 && isConst(s[len(s)-1], 2) {
		return 2, nil
	}
	return 0, failed(name, "tensor %s has shape %s: want 2 dimensions or more, and a last one of 1 for real, or 2 for "+
		"complex numbers", x.ProducerName(), shapeText(s))
}

// fourier is a transform.
type fourier struct {
	name     string
	length   int
	parts    int  // of the elements: 1 for real ones, 2 for complex ones
	inverse  bool // divided by the length
	mirrored bool // from the frequencies of one side to a real signal
	work     tir.Type
}

// transform sums, for each element of the result along dimension d, over count elements, which read returns. The last
// dimension of the shape is that of real and imaginary parts.
func (f *fourier) transform(shape []tir.Expr, d int, count tir.Expr, read func(i []tir.Expr, k tir.Expr,
	part int) tir.Expr) *te.Tensor {
	// The angles are 2π·n/length for n = 0 … length-1, so that they have no rounding errors of large products.
	table := func(suffix, function string) *te.Tensor {
		return te.Compute([]tir.Expr{like(count, f.length)}, f.name+suffix, func(i ...tir.Expr) tir.Expr {
			return tir.Intrin(function, tir.Mul(tir.NewCast(f.work, i[0]), tir.Const(f.work, 2*math.Pi/float64(f.length))))
		})
	}
	cos, sin := table(".cos", "cos"), table(".sin", "sin")
	k := reduceAxis(count, "k")
	sign := -1.0
	if f.inverse {
		sign = 1
	}
	return te.Compute(shape, f.name+".sum", func(i ...tir.Expr) tir.Expr {
		turn := tir.FloorMod(tir.Mul(tir.NewCast(tir.Int64, i[d]), tir.NewCast(tir.Int64, k.Var)), tir.I64(int64(f.length)))
		turn = castIndex(count, turn)
		c, s := cos.At(turn), tir.Mul(sin.At(turn), tir.Const(f.work, sign))
		re := read(i, k.Var, 0)
		real, imaginary := tir.Mul(re, c), tir.Mul(re, s)
		if f.parts == 2 {
			im := read(i, k.Var, 1)
			real = tir.Sub(real, tir.Mul(im, s))
			imaginary = tir.Add(imaginary, tir.Mul(im, c))
		}
		if f.mirrored { // the other side has the conjugate values; neither 0 nor the middle is on it
			once := tir.EQ(tir.Mul(k.Var, like(k.Var, 2)), like(k.Var, f.length))
			once = tir.Or(once, tir.EQ(k.Var, like(k.Var, 0)))
			return te.Sum(tir.Mul(real, tir.NewSelect(once, tir.Const(f.work, 1), tir.Const(f.work, 2))), k)
		}
		last := i[len(i)-1]
		return te.Sum(tir.NewSelect(tir.EQ(last, like(last, 0)), real, imaginary), k)
	})
}

// finish divides the sums of an inverse transform, and converts them to the type of x.
func (f *fourier) finish(sum, x *te.Tensor, kind string, attrs any) *te.Tensor {
	out := Map(sum, f.name, func(e tir.Expr) tir.Expr {
		if f.inverse {
			e = tir.Mul(e, tir.Const(f.work, 1/float64(f.length)))
		}
		return castTo(x.ProducerDType(), e)
	})
	return by(out, &Operator{Kind: kind, Inputs: []*te.Tensor{x}, Attrs: attrs})
}

// STFTAttrs holds the options of STFT.
type STFTAttrs struct {
	Length   int  // of a frame
	Step     int  // from a frame to the next one
	OneSided bool // only the frequencies 0 … Length/2
}

// STFT is the short-time Fourier transform of x, [batch, length, 1 or 2 for complex signals]: the discrete Fourier
// transform of each whole frame, multiplied by a window of at most Length elements, of the type of x; nil: 1. The
// result is [batch, frames, frequencies, 2]. It is computed as for DFT.
func STFT(x, window *te.Tensor, name string, a STFTAttrs) *te.Tensor {
	if bad := check(name, 3, x); bad != nil {
		return bad
	}
	parts, bad := checkSignal(name, x)
	if bad != nil {
		return bad
	}
	if a.Length < 1 || a.Length > 1<<20 || a.Step < 1 || a.Step > 1<<20 {
		return failed(name, "frames of %d elements in steps of %d: want 1 to %d", a.Length, a.Step, 1<<20)
	}
	s := x.ProducerShape()
	count := like(s[1], a.Length)
	if window != nil {
		if bad := check(name, 1, window); bad != nil {
			return bad
		}
		if bad := sameType(name, x, window); bad != nil {
			return bad
		}
		count = window.ProducerShape()[0]
		if n, known := constSize(count); !known && !arith.ProveEqual(count, like(count, a.Length)) || n > int64(a.Length) {
			return failed(name, "the window %s has %s elements, and frames have %d: want no more", window.ProducerName(),
				text.Print(count), a.Length)
		}
	}
	frames := simplified(tir.Max(like(s[1], 0), plus(tir.FloorDiv(plus(s[1], -a.Length), like(s[1], a.Step)), 1)))
	frequencies := a.Length
	if a.OneSided {
		frequencies = a.Length/2 + 1
	}
	f := &fourier{name: name, length: a.Length, parts: parts, work: workType(x.ProducerDType())}
	shape := []tir.Expr{s[0], frames, like(s[1], frequencies), like(s[2], 2)}
	y := f.transform(shape, 2, count, func(i []tir.Expr, k tir.Expr, part int) tir.Expr {
		at := tir.Add(tir.Mul(i[1], like(i[1], a.Step)), castIndex(i[1], k))
		e := castTo(f.work, x.At(i[0], simplified(at), like(s[2], part)))
		if window != nil {
			e = tir.Mul(e, castTo(f.work, window.At(k)))
		}
		return e
	})
	return f.finish(y, x, "stft", &a)
}

// HannWindow is sin²(π·n/N) for n = 0 … size-1, where N is size if it is periodic, else size-1. The one element of
// a window of size 1 that is not periodic is 1. All windows are vectors of floats.
func HannWindow(size tir.Expr, periodic bool, t tir.Type, name string) *te.Tensor {
	return windowOf(size, periodic, t, name, func(turn tir.Expr) tir.Expr {
		e := tir.Intrin("sin", tir.Mul(turn, tir.Const(turn.DType(), math.Pi)))
		return tir.Mul(e, e)
	})
}

// HammingWindow is 25/46 - 21/46·cos(2π·n/N), with N as for HannWindow.
func HammingWindow(size tir.Expr, periodic bool, t tir.Type, name string) *te.Tensor {
	return windowOf(size, periodic, t, name, func(turn tir.Expr) tir.Expr {
		return tir.Add(tir.Const(turn.DType(), 25.0/46), cosine(turn, -21.0/46, 1))
	})
}

// BlackmanWindow is 0.42 - 0.5·cos(2π·n/N) + 0.08·cos(4π·n/N), with N as for HannWindow.
func BlackmanWindow(size tir.Expr, periodic bool, t tir.Type, name string) *te.Tensor {
	return windowOf(size, periodic, t, name, func(turn tir.Expr) tir.Expr {
		return tir.Add(tir.Const(turn.DType(), 0.42), tir.Add(cosine(turn, -0.5, 1), cosine(turn, 0.08, 2)))
	})
}

// cosine is a·cos(2π·times·turn).
func cosine(turn tir.Expr, a, times float64) tir.Expr {
	t := turn.DType()
	return tir.Mul(tir.Const(t, a), tir.Intrin("cos", tir.Mul(turn, tir.Const(t, 2*math.Pi*times))))
}

// windowOf is a window whose values are a function of n/N.
func windowOf(size tir.Expr, periodic bool, t tir.Type, name string, f func(turn tir.Expr) tir.Expr) *te.Tensor {
	if !floats.has(t) {
		return failed(name, "the window has type %s: want %s", t, floats.want)
	}
	work := workType(t)
	period := size
	if !periodic {
		period = simplified(plus(size, -1))
	}
	return te.Compute([]tir.Expr{size}, name, func(i ...tir.Expr) tir.Expr {
		one := tir.Const(work, 1)
		e := f(tir.Div(tir.NewCast(work, i[0]), tir.Max(tir.NewCast(work, period), one)))
		if periodic {
			return castTo(t, e)
		}
		return castTo(t, tir.NewSelect(tir.EQ(size, like(size, 1)), one, e))
	})
}

package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// MatmulAttrs holds the options of Matmul.
type MatmulAttrs struct {
	TransposeX, TransposeY bool
	Accumulate             tir.Type // the type of the computation; the zero value chooses it by the operands
}

// MatmulOption is an option of Matmul.
type MatmulOption func(*MatmulAttrs)

// TransposeX takes x as [k, n] instead of [n, k].
func TransposeX() MatmulOption { return func(a *MatmulAttrs) { a.TransposeX = true } }

// TransposeY takes y as [m, k] instead of [k, m].
func TransposeY() MatmulOption { return func(a *MatmulAttrs) { a.TransposeY = true } }

// AccumulateIn casts both operands to t before they are multiplied; they may have different types. The result has type
// t.
func AccumulateIn(t tir.Type) MatmulOption { return func(a *MatmulAttrs) { a.Accumulate = t } }

// Matmul is the matrix product of x of shape [n, k] and y of shape [k, m]; the result has shape [n, m]. Leading
// dimensions are batches, which are broadcast as by Zip. Without AccumulateIn both operands must have the same type,
// which the result has, too. Sums of 16-bit floats are computed in float32 and rounded once; sums of integers wrap.
func Matmul(x, y *te.Tensor, name string, options ...MatmulOption) *te.Tensor {
	if bad := check(name, -1, x, y); bad != nil {
		return bad
	}
	attrs := &MatmulAttrs{}
	for _, o := range options {
		if o == nil {
			return failed(name, "an option is nil")
		}
		o(attrs)
	}
	a, b := x.ProducerShape(), y.ProducerShape()
	for _, t := range []*te.Tensor{x, y} {
		if n := len(t.ProducerShape()); n < 2 {
			return failed(name, "tensor %s has %d dimensions: want 2 or more", t.ProducerName(), n)
		}
	}
	result, bad := accumulation(name, &attrs.Accumulate, x, y)
	if bad != nil {
		return bad
	}
	row, inner := len(a)-2, len(a)-1
	if attrs.TransposeX {
		row, inner = inner, row
	}
	col, other := len(b)-1, len(b)-2
	if attrs.TransposeY {
		col, other = other, col
	}
	if !arith.ProveEqual(a[inner], b[other]) {
		if !attrs.TransposeX && !attrs.TransposeY {
			return failed(name, "tensor %s has %s columns, and tensor %s has %s rows: want equal numbers", x.ProducerName(),
				text.Print(a[inner]), y.ProducerName(), text.Print(b[other]))
		}
		return failed(name, "axis %d of tensor %s is %s, and axis %d of tensor %s is %s: want equal sizes to sum over",
			inner, x.ProducerName(), text.Print(a[inner]), other, y.ProducerName(), text.Print(b[other]))
	}
	shape, bad := batches(name, x, y)
	if bad != nil {
		return bad
	}
	n := len(shape)
	k := reduceAxis(a[inner], "k")
	t := attrs.Accumulate
	work := name
	if result != t {
		work = name + ".wide"
	}
	out := te.Compute(append(shape, a[row], b[col]), work, func(i ...tir.Expr) tir.Expr {
		p, q := pickAt(a[:len(a)-2], i[:n]), pickAt(b[:len(b)-2], i[:n])
		p, q = append(p, nil, nil), append(q, nil, nil)
		p[row], p[inner], q[col], q[other] = i[n], k.Var, i[n+1], k.Var
		return te.Sum(tir.Mul(castTo(t, x.At(p...)), castTo(t, y.At(q...))), k)
	})
	out = by(out, &Operator{Kind: "matmul", Inputs: []*te.Tensor{x, y}, Attrs: attrs})
	if result != t {
		return Cast(out, result, name)
	}
	return out
}

// accumulation returns the type of the products of two tensors, and sets *t to the type in which they are accumulated.
func accumulation(name string, t *tir.Type, x, y *te.Tensor) (tir.Type, *te.Tensor) {
	if bad := numbers.of(name, x, y); bad != nil {
		return *t, bad
	}
	if *t != (tir.Type{}) {
		if !isNumber(*t) {
			return *t, failed(name, "the products of tensors %s and %s accumulate in type %s: want %s", x.ProducerName(),
				y.ProducerName(), *t, numbers.want)
		}
		for _, x := range []*te.Tensor{x, y} {
			if from := x.ProducerDType(); tir.IsFloat(from) && !tir.IsFloat(*t) {
				return *t, failed(name, "tensor %s has type %s, and products accumulate in type %s: want a "+
					"type of floats", x.ProducerName(), from, *t)
			}
		}
		return *t, nil
	}
	if x.ProducerDType() != y.ProducerDType() {
		return *t, failed(name, "tensor %s has type %s, and tensor %s has type %s: cast one of them, or choose by "+
			"AccumulateIn what to compute in", x.ProducerName(), x.ProducerDType(), y.ProducerName(), y.ProducerDType())
	}
	*t = workType(x.ProducerDType())
	return x.ProducerDType(), nil
}

// batches returns the broadcast shape of all dimensions except the last two.
func batches(name string, x, y *te.Tensor) ([]tir.Expr, *te.Tensor) {
	a, b := x.ProducerShape(), y.ProducerShape()
	a, b = a[:len(a)-2], b[:len(b)-2]
	if len(a) == 0 && len(b) == 0 {
		return nil, nil
	}
	// Placeholders with these dimensions, named after the tensors for error messages.
	return broadcast(name, te.Placeholder(a, x.ProducerDType(), x.ProducerName()), te.Placeholder(b, y.ProducerDType(),
		y.ProducerName()))
}

package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// PadOption is an option of Pad.
type PadOption func(*padding)

type padding struct {
	value float64
	mode  string // "" or one of those below
}

// PadValue pads with a value; the default is 0.
func PadValue(v float64) PadOption { return func(p *padding) { p.value = v } }

// PadEdge pads with the nearest element.
func PadEdge() PadOption { return func(p *padding) { p.mode = "edge" } }

// PadReflect mirrors the tensor at its outermost elements, which are not repeated.
func PadReflect() PadOption { return func(p *padding) { p.mode = "reflect" } }

// PadWrap repeats the tensor periodically.
func PadWrap() PadOption { return func(p *padding) { p.mode = "wrap" } }

// Pad adds before[d] elements before dimension d and after[d] after it: zeros, unless an option says otherwise.
// Negative numbers remove elements. A size that is no constant must be large enough for the mode when the code runs: 1,
// and more than the paddings for PadReflect.
func Pad(x *te.Tensor, name string, before, after []int, options ...PadOption) *te.Tensor {
	if bad := check(name, len(before), x); bad != nil {
		return bad
	}
	if len(after) != len(before) {
		return failed(name, "%d paddings before and %d after: want equal numbers", len(before), len(after))
	}
	var p padding
	for _, o := range options {
		if o == nil {
			return failed(name, "an option is nil")
		}
		o(&p)
	}
	old := x.ProducerShape()
	shape := make([]tir.Expr, len(old))
	for d, n := range old {
		if p.mode != "" && max(before[d], after[d]) > 0 {
			least := 1
			if p.mode == "reflect" {
				least = max(before[d], after[d]) + 1
			}
			if c, ok := constSize(n); ok && c < int64(least) {
				return failed(name, "dimension %d of tensor %s has size %s, and padding by %s of %d and %d: want a size of %d "+
					"or more", d, x.ProducerName(), text.Print(n), p.mode, before[d], after[d], least)
			}
		}
		if shape[d] = plus(n, before[d]+after[d]); min(before[d], after[d]) < 0 {
			shape[d] = simplified(tir.Max(like(n, 0), shape[d]))
		}
		if sizeBad(shape[d]) {
			return failed(name, "dimension %d of tensor %s has size %s, and with padding of %d and %d it does not "+
				"fit into the index type",
				d, x.ProducerName(), text.Print(n), before[d], after[d])
		}
	}
	value, bad := valueOf(name, x.ProducerDType(), p.value)
	if bad != nil {
		return bad
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		if empty(shape) {
			return value
		}
		var within []tir.Expr
		at := make([]tir.Expr, len(i))
		for d := range i {
			if at[d] = i[d]; before[d] == 0 && after[d] == 0 {
				continue
			}
			at[d] = plus(i[d], -before[d])
			switch last := plus(old[d], -1); p.mode {
			case "edge":
				at[d] = tir.Max(like(at[d], 0), tir.Min(at[d], last))
			case "reflect":
				at[d] = tir.Max(at[d], tir.Sub(like(at[d], 0), at[d]))
				at[d] = tir.Min(at[d], tir.Sub(tir.Mul(like(at[d], 2), last), at[d]))
			case "wrap":
				at[d] = tir.FloorMod(at[d], old[d])
			default:
				if before[d] > 0 {
					within = append(within, tir.GE(at[d], like(at[d], 0)))
				}
				if after[d] > 0 {
					within = append(within, tir.LT(at[d], old[d]))
				}
			}
		}
		if empty(old) {
			return value
		}
		return where(within, x.At(at...), value)
	})
	return by(out, &Operator{Kind: "pad", Inputs: []*te.Tensor{x}})
}

// sizeBad reports whether a size could not be computed.
func sizeBad(n tir.Expr) bool {
	_, bad := n.(*tir.Bad)
	return bad
}

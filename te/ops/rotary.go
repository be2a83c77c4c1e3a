package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// RotaryEmbedding rotates pairs of elements of x, of shape [batch, heads, sequence, size], by angles that depend on the
// position in the sequence. The first dims elements of the last dimension are rotated, an even number; 0 stands for all
// of them. A pair consists of elements that are dims/2 apart or, if interleaved is set, of adjacent ones. cos and sin
// are the functions of the angles, of shape [batch, sequence, dims/2]; or [n, dims/2], in which positions of shape
// [batch, sequence], integers from 0 to n-1, select rows. positions beyond them count as the nearest one. 16-bit floats
// are computed in float32.
func RotaryEmbedding(x, cos, sin, positions *te.Tensor, name string, dims int, interleaved bool) *te.Tensor {
	if bad := check(name, 4, x); bad != nil {
		return bad
	}
	if bad := check(name, -1, cos, sin); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	if bad := sameType(name, x, cos, sin); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	size, known := constSize(s[3])
	if dims == 0 && known {
		dims = int(size)
	}
	if !known || dims < 0 || dims%2 > 0 || int64(dims) > size {
		return failed(name, "%d elements of tensor %s, of size %s, are rotated: want an even number of a constant size",
			dims, x.ProducerName(), text.Print(s[3]))
	}
	half := dims / 2
	want := []tir.Expr{s[0], s[2], like(s[3], half)}
	inputs := []*te.Tensor{x, cos, sin}
	if positions != nil {
		if bad := check(name, 2, positions); bad != nil {
			return bad
		}
		if bad := indexes.of(name, positions); bad != nil {
			return bad
		}
		if p := positions.ProducerShape(); !arith.ProveEqual(p[0], s[0]) || !arith.ProveEqual(p[1], s[2]) {
			return failed(name, "tensor %s has shape %s: want %s", positions.ProducerName(), shapeText(p), shapeText(want[:2]))
		}
		inputs = append(inputs, positions)
		want = []tir.Expr{cos.ProducerShape()[0], want[2]}
	}
	for _, t := range inputs[1:3] {
		got := t.ProducerShape()
		same := len(got) == len(want)
		for d := 0; same && d < len(want); d++ {
			same = arith.ProveEqual(got[d], want[d])
		}
		if !same {
			return failed(name, "tensor %s has shape %s: want %s", t.ProducerName(), shapeText(got), shapeText(want))
		}
	}
	t := x.ProducerDType()
	work := workType(t)
	out := te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		own := x.At(i...)
		if half == 0 || empty(s) {
			return own
		}
		j, c := i[3], func(v int) tir.Expr { return like(i[3], v) }
		first, pair, partner := tir.LT(j, c(half)), tir.FloorMod(j, c(half)), tir.FloorMod(plus(j, half), c(dims))
		if interleaved {
			pair = tir.FloorDiv(j, c(2))
			first = tir.EQ(tir.FloorMod(j, c(2)), c(0))
			partner = tir.Sub(plus(j, 1), tir.Mul(tir.FloorMod(j, c(2)), c(2)))
		}
		angle := func(f *te.Tensor) tir.Expr {
			if positions == nil {
				return tir.NewCast(work, f.At(i[0], i[2], pair))
			}
			row, conds := Clamp.resolve(positions.At(i[0], i[2]), f.ProducerShape()[0])
			return tir.NewCast(work, where(conds, f.At(row, pair), tir.Const(t, 0)))
		}
		product := tir.Mul(tir.NewCast(work, x.At(i[0], i[1], i[2], partner)), angle(sin))
		rotated := tir.Add(tir.Mul(tir.NewCast(work, own), angle(cos)), tir.NewSelect(first, tir.Negate(product), product))
		if int64(dims) == size {
			return tir.NewCast(t, rotated)
		}
		return where([]tir.Expr{tir.LT(j, c(dims))}, tir.NewCast(t, rotated), own)
	})
	return by(out, &Operator{Kind: "rotaryembedding", Inputs: inputs})
}

package tir

import "fmt"

// NewRamp returns the vector base, base+stride, …. The operands are scalars, which are converted to one type as by
// [Add].
func NewRamp(base, stride Expr, lanes int) Expr {
	if e := firstNoValue("ramp", base, stride); e != nil {
		return e
	}
	if err := lanesError(lanes); err != nil {
		return bad("ramp: %v", err)
	}
	base, stride, err := match(base, stride)
	if err != nil {
		return bad("ramp: %v", err)
	}
	if t := base.DType(); t.Lanes != 1 || !IsInt(t) && !IsFloat(t) {
		return bad("ramp of type %s: want a number of one lane", TypeName(t))
	}
	return &Ramp{base, stride, lanes}
}

// NewBroadcast returns a vector all of whose lanes are value, which must have one lane.
func NewBroadcast(value Expr, lanes int) Expr {
	if e := firstNoValue("broadcast", value); e != nil {
		return e
	}
	if err := lanesError(lanes); err != nil {
		return bad("broadcast: %v", err)
	}
	if t := value.DType(); t.Lanes != 1 || IsHandle(t) {
		return bad("broadcast of type %s: want one lane", TypeName(t))
	}
	return &Broadcast{value, lanes}
}

// NewShuffle returns a vector of lanes of other vectors: each index refers to the concatenation of all their lanes.
func NewShuffle(vectors []Expr, indices []int) Expr {
	if len(vectors) == 0 {
		return bad("shuffle of no vectors")
	}
	if e := firstBad("shuffle", vectors...); e != nil {
		return e
	}
	if err := lanesError(len(indices)); err != nil {
		return bad("shuffle: %v", err)
	}
	lanes, element := 0, Element(vectors[0].DType())
	for i, v := range vectors {
		t := v.DType()
		if t == Void || IsHandle(t) || Element(t) != element {
			return bad("shuffle: vector %d is of type %s: want lanes of type %s", i, TypeName(t), element)
		}
		lanes += int(t.Lanes)
	}
	for _, x := range indices {
		if x < 0 || x >= lanes {
			return bad("shuffle: index %d: the vectors have %d lanes", x, lanes)
		}
	}
	return &Shuffle{vectors, indices}
}

func lanesError(n int) error {
	if n < 1 || n > MaxLanes {
		return fmt.Errorf("%d lanes: want 1 to %d", n, MaxLanes)
	}
	return nil
}

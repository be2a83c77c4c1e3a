package transform

import (
	"maps"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
)

// Multiples knows powers of two that divide integer expressions. Let binds variables; others may have any value.
type Multiples struct{ of map[*tir.Var]int64 }

// mostMultiple is the largest power of two that is of interest.
const mostMultiple = 1 << 12

// Let records the value of a variable.
func (m *Multiples) Let(v *tir.Var, value tir.Expr) {
	if !tir.IsInt(v.Type) || v.Type.Lanes != 1 {
		return
	}
	if m.of == nil {
		m.of = map[*tir.Var]int64{}
	}
	m.of[v] = m.Of(value)
}

// Of returns a power of two, at most 4096, that divides a scalar integer expression. Overflow does not matter: it
// keeps the last bits.
func (m *Multiples) Of(e tir.Expr) int64 {
	switch e := e.(type) {
	case *tir.IntImm:
		if e.Value == 0 {
			return mostMultiple
		}
		return min(e.Value&-e.Value, mostMultiple)
	case *tir.Var:
		return max(m.of[e], 1)
	case *tir.Cast:
		if tir.IsInt(e.Type) && tir.IsInt(e.Value.DType()) {
			return m.Of(e.Value)
		}
	case *tir.Select:
		return min(m.Of(e.Then), m.Of(e.Else))
	case *tir.Binary:
		if !tir.IsInt(e.A.DType()) {
			return 1
		}
		a, b := m.Of(e.A), m.Of(e.B)
		switch e.Op {
		case tir.OpAdd, tir.OpSub, tir.OpMin, tir.OpMax:
			return min(a, b)
		case tir.OpMul:
			return min(a*b, mostMultiple)
		case tir.OpFloorMod, tir.OpMod:
			return min(a, b)
		case tir.OpFloorDiv, tir.OpDiv:
			if d, ok := e.B.(*tir.IntImm); ok && d.Value > 0 && d.Value&(d.Value-1) == 0 && a%d.Value == 0 {
				return a / d.Value
			}
		}
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic && e.Name == "likely" && len(e.Args) == 1 {
			return m.Of(e.Args[0])
		}
	}
	return 1
}

// Element returns a power of two that divides the position of the first element of an access to a buffer, counted from
// the buffer's address; the last index may be a vector of consecutive elements.
func (m *Multiples) Element(b *tir.Buffer, indices []tir.Expr) int64 {
	if len(indices) != len(b.Shape) || b.Strides != nil && len(b.Strides) != len(b.Shape) {
		return 1
	}
	all := int64(mostMultiple)
	if b.Offset != nil {
		all = m.Of(b.Offset)
	}
	step := int64(1)
	for d := len(indices) - 1; d >= 0; d-- {
		index := indices[d]
		if r, ok := index.(*tir.Ramp); ok {
			index = r.Base
		}
		if b.Strides != nil {
			step = m.Of(b.Strides[d])
		}
		all = min(all, m.Of(index)*step)
		if b.Strides == nil {
			step = min(step*m.Of(b.Shape[d]), mostMultiple)
		}
	}
	return all
}

// Contiguous reports whether the elements at a vector of indices are contiguous.
func Contiguous(b *tir.Buffer, indices []tir.Expr) bool {
	if len(indices) == 0 {
		return false
	}
	r, ok := indices[len(indices)-1].(*tir.Ramp)
	if !ok {
		return false
	}
	if s, ok := r.Stride.(*tir.IntImm); !ok || s.Value != 1 {
		return false
	}
	if b.Strides == nil {
		return true
	}
	last, ok := b.Strides[len(b.Strides)-1].(*tir.IntImm)
	return ok && last.Value == 1
}

// Widest returns how many of several elements a language whose vectors must be aligned accesses at once: as many lanes
// as the whole access, or a part of it of which all parts have the size; 1 if each element is an access of its own. The
// elements must be contiguous, and their position a multiple of the lanes. Memory of scope "local" has no vectors:
// compilers keep its elements in registers. The address of other memory is assumed to be aligned: see AlignTensors.
func (l *Language) Widest(b *tir.Buffer, indices []tir.Expr, m *Multiples) int {
	if !Contiguous(b, indices) || b.StorageScope() == "local" {
		return 1
	}
	t := tir.Element(b.DType)
	if tir.IsBool(t) {
		t = tir.UInt8
	}
	n, at := int(indices[len(indices)-1].DType().Lanes), m.Element(b, indices)
	for _, lanes := range slices.Backward(l.Lanes) {
		if n%lanes == 0 && at%int64(lanes) == 0 && l.HasVector(tir.Vector(t, lanes)) {
			return lanes
		}
	}
	return 1
}

// AlignTensors requires tensors to be aligned whose elements kernels access as whole vectors: a host function that
// launches such a kernel then rejects a tensor whose address is not a multiple of the vector's size. Memory that a
// program allocates is aligned anyway. Languages whose vectors need no alignment stay as they are.
func AlignTensors(l Language) Pass {
	return func(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
		if err := checkFuncs("align tensors", m); err != nil || !l.Aligned {
			return m, err
		}
		needs := map[string][]int{}
		for _, f := range m.Funcs {
			if IsKernel(f) {
				if need := l.alignments(f); need != nil {
					needs[f.Name] = need
				}
			}
		}
		if len(needs) == 0 {
			return m, nil
		}
		out := &tir.IRModule{Attrs: m.Attrs, Funcs: slices.Clone(m.Funcs)}
		for i, f := range out.Funcs {
			if !IsKernel(f) {
				out.Funcs[i] = aligned(f, needs)
			}
		}
		return out, nil
	}
}

// alignments returns the alignment in bytes that a kernel needs of each parameter; nil if it needs none.
func (l *Language) alignments(f *tir.PrimFunc) (need []int) {
	param := map[*tir.Var]int{}
	for i, p := range f.Params {
		if b := f.Buffers[p]; b != nil {
			param[b.Data] = i
		}
	}
	var known Multiples
	access := func(b *tir.Buffer, indices []tir.Expr) {
		i, ok := param[b.Data]
		lanes := l.Widest(b, indices, &known)
		if !ok || lanes == 1 {
			return
		}
		if need == nil {
			need = make([]int, len(f.Params))
		}
		need[i] = max(need[i], lanes*int(b.DType.Bits)/8)
	}
	tir.Walk(f.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.LetStmt:
			known.Let(n.Var, n.Value)
		case *tir.Let:
			known.Let(n.Var, n.Value)
		case *tir.BufferLoad:
			access(n.Buffer, n.Indices)
		case *tir.BufferStore:
			access(n.Buffer, n.Indices)
		case *tir.Call:
			if n.Kind != tir.CallIntrinsic || n.Name != "async_copy" || len(n.Args) != 3 {
				break
			}
			source, _ := n.Args[1].(*tir.Call)
			bytes, _ := n.Args[2].(*tir.IntImm)
			if source == nil || bytes == nil || len(source.Args) == 0 {
				break
			}
			if load, ok := source.Args[0].(*tir.BufferLoad); ok {
				if i, ok := param[load.Buffer.Data]; ok {
					if need == nil {
						need = make([]int, len(f.Params))
					}
					need[i] = max(need[i], int(bytes.Value))
				}
			}
		}
		return true
	})
	return need
}

// aligned returns a host function whose parameters have the alignments that its kernels need.
func aligned(f *tir.PrimFunc, needs map[string][]int) *tir.PrimFunc {
	param := map[*tir.Var]*tir.Var{}
	for _, p := range f.Params {
		if b := f.Buffers[p]; b != nil {
			param[b.Data] = p
		}
	}
	buffers := f.Buffers
	tir.Walk(f.Body, func(node any) bool {
		call, ok := node.(*tir.Call)
		if !ok || call.Kind != tir.CallPacked || needs[call.Name] == nil {
			return true
		}
		for i, n := range needs[call.Name] {
			if i >= len(call.Args) {
				break
			}
			data, _ := call.Args[i].(*tir.Var)
			p := param[data]
			if data == nil || p == nil || buffers[p].Alignment >= n {
				continue
			}
			b := *buffers[p]
			b.Alignment = n
			buffers = maps.Clone(buffers)
			buffers[p] = &b
		}
		return true
	})
	if len(buffers) == 0 {
		return f
	}
	g := *f
	g.Buffers = buffers
	return &g
}

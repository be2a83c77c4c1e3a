package transform

import (
	"maps"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Widest returns how many of several elements a language whose vectors must be aligned accesses at once: as many lanes
// as the whole access, or a part of it of which all parts have the size; 1 if each element is an access of its own. The
// elements must be contiguous, and their position a multiple of the lanes. Memory of scope "local" has no vectors:
// compilers keep its elements in registers. The address of other memory is assumed to be aligned: see AlignTensors.
func (l *Language) Widest(b *tir.Buffer, indices []tir.Expr, m *arith.Multiples) int {
	if !arith.Contiguous(b, indices) || b.StorageScope() == "local" {
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
	var known arith.Multiples
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

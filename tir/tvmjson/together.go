package tvmjson

import (
	"math/bits"
	"slices"
	"strings"

	"tvmgo/tir"
)

// maxParts is the maximum number of threads of a block that compute a result together.
const maxParts = 4096

func barrier() tir.Stmt {
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync", tir.Text("shared"))}
}

// threadsTogether returns the statements with which threads accumulate their parts and combine them. combined are the
// indices of the threads; always is the condition of an iteration, data that of a result.
func (r *reader) threadsTogether(n node, red *reduction, combined []*tir.Var, serial []func(tir.Stmt) tir.Stmt,
	always, data tir.Expr) tir.Stmt {
	var parts, shared []*tir.Buffer
	var shape, mine []tir.Expr
	var joined []int // dimensions of shared that are combined
	var sizes []int64
	total := int64(1)
	for _, tag := range []string{"threadIdx.z", "threadIdx.y", "threadIdx.x"} {
		i := slices.IndexFunc(r.threads, func(t thread) bool { return t.tag == tag })
		if i < 0 {
			continue
		}
		t := r.threads[i]
		size, ok := tir.IntValue(t.extent)
		if total *= max(size, 1); !ok || size < 1 || size > maxParts || total > maxParts {
			n.Unsupported("a reduction across threads whose number is not constant, or above %d", maxParts)
			return &tir.Seq{}
		}
		if slices.Contains(combined, t.v) {
			joined = append(joined, len(shape))
		}
		sizes = append(sizes, size)
		shape = append(shape, tir.I32(int32(size)))
		mine = append(mine, good(n, tir.NewCast(tir.Int32, t.v)))
	}
	zero := []tir.Expr{tir.I32(0)}
	var initial, update, put []tir.Stmt
	own := make([]tir.Expr, len(red.stores))
	for i, s := range red.stores {
		p := tir.NewBuffer(s.Buffer.Name+".part", s.Buffer.DType, tir.I32(1))
		p.Scope = "local"
		all := tir.NewBuffer(s.Buffer.Name+".parts", s.Buffer.DType, shape...)
		all.Scope = "shared"
		parts, shared = append(parts, p), append(shared, all)
		own[i] = tir.BufferAt(p, zero...)
		initial = append(initial, &tir.BufferStore{Buffer: p, Indices: zero, Value: red.identity[i]})
		put = append(put, &tir.BufferStore{Buffer: all, Indices: mine, Value: own[i]})
	}
	update = append(update, assign(parts, zero, red.left, own, nil, nil, red.update))
	body := tir.Sequence(update...)
	if always != nil {
		body = &tir.If{Cond: always, Then: body}
	}
	for _, loop := range slices.Backward(serial) {
		body = loop(body)
	}
	steps := append(initial, body)
	steps = append(append(steps, put...), barrier())
	at := slices.Clone(mine)
	var done tir.Expr
	for _, d := range slices.Backward(joined) {
		for size := sizes[d]; size > 1; {
			half := int64(1) << (bits.Len64(uint64(size-1)) - 1)
			other := slices.Clone(at)
			other[d] = tir.Add(at[d], tir.I32(int32(half)))
			var left, right []tir.Expr
			for _, s := range shared {
				left, right = append(left, tir.BufferAt(s, at...)), append(right, tir.BufferAt(s, other...))
			}
			only := both(tir.LT(at[d], tir.I32(int32(size-half))), done)
			steps = append(steps, &tir.If{Cond: only, Then: assign(shared, at, red.left, left, red.right, right,
				red.combined)}, barrier())
			size = half
		}
		done = both(done, tir.EQ(at[d], tir.I32(0)))
		at = slices.Clone(at)
		at[d] = tir.I32(0)
	}
	var results []tir.Stmt
	private := true
	for i, s := range red.stores {
		private = private && strings.HasPrefix(s.Buffer.Scope, "local")
		results = append(results, &tir.BufferStore{Buffer: s.Buffer, Indices: s.Indices,
			Value: tir.BufferAt(shared[i], at...)})
	}
	cond := data
	if !private {
		cond = both(cond, done)
	}
	last := tir.Sequence(results...)
	if cond != nil {
		last = &tir.If{Cond: cond, Then: last}
	}
	s := tir.Sequence(append(steps, last, barrier())...)
	for i := range parts {
		s = &tir.Alloc{Buffer: parts[i], Body: &tir.Alloc{Buffer: shared[i], Body: s}}
	}
	return s
}

// assign stores values to an element of each buffer, after all of them have been computed: expressions of left and
// right, which have the given values.
func assign(to []*tir.Buffer, at []tir.Expr, left []*tir.Var, leftValues []tir.Expr, right []*tir.Var,
	rightValues []tir.Expr, exprs []tir.Expr) tir.Stmt {
	values := map[*tir.Var]tir.Expr{}
	for i, v := range left {
		values[v] = leftValues[i]
	}
	for i, v := range right {
		values[v] = rightValues[i]
	}
	if len(to) == 1 {
		return &tir.BufferStore{Buffer: to[0], Indices: at, Value: tir.Substitute(exprs[0], values)}
	}
	var stores []tir.Stmt
	names := make([]*tir.Var, len(to))
	for i, b := range to {
		names[i] = tir.NewVar(b.Name+".next", b.DType)
		stores = append(stores, &tir.BufferStore{Buffer: b, Indices: at, Value: names[i]})
	}
	s := tir.Sequence(stores...)
	for i := range slices.Backward(to) {
		s = &tir.LetStmt{Var: names[i], Value: tir.Substitute(exprs[i], values), Body: s}
	}
	return s
}

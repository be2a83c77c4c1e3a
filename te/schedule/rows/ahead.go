package rows

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// Sizes in bytes of a result: from beyondCache rows are fetched ahead, from beyondAll results are stored past the
// caches, because the operator that reads them would not find them there.
const (
	beyondCache = 2 << 20
	beyondAll   = 16 << 20
)

// bytesOf returns the size in bytes of a tensor, at most 1 TiB; 0 if it is not known.
func bytesOf(t *te.Tensor) int64 {
	bytes := int64(max(1, t.ProducerDType().Bits/8))
	for _, n := range t.ProducerShape() {
		size, known := n.(*tir.IntImm)
		if !known {
			return 0
		}
		if bytes > 0 && size.Value > 1<<40/bytes {
			return 1 << 40
		}
		bytes *= size.Value
	}
	return bytes
}

// PastCaches makes the stage of a result store it past the caches if it is larger than they are, and reports whether it
// does.
func PastCaches(s *te.Schedule, root *te.Tensor) bool {
	st := s.Stage(root)
	if !st.IsOutput() || len(st.ReduceAxes()) > 0 || len(st.Formulas()) != 1 || bytesOf(root) < beyondAll {
		return false
	}
	st.NonTemporal()
	return true
}

// fetchAhead fetches, in each iteration of a loop over the vectors of a row, the place in the result that has the same
// index, and the elements of the next row that inputs have there.
func fetchAhead(s *te.Schedule, st *te.Stage, root *te.Tensor, vector *tir.IterVar) {
	if n := len(root.ProducerShape()); bytesOf(root) < beyondCache || n < 2 || len(st.Axes()) != n {
		return
	}
	if !s.Stage(root).IsOutput() {
		return
	}
	axes := st.Axes()
	row, column := axes[len(axes)-2], axes[len(axes)-1]
	var done []*te.Tensor
	schedule.EachRead(s, st, func(t *te.Tensor, at []tir.Expr) {
		moves := len(at) > 0 && uses(at[len(at)-1], column.Var) &&
			slices.ContainsFunc(at[:len(at)-1], func(x tir.Expr) bool { return uses(x, row.Var) })
		if !moves || !s.Stage(t).IsPlaceholder() || slices.Contains(done, t) {
			return
		}
		done = append(done, t)
		st.PrefetchAt(t, vector, func(i ...tir.Expr) []tir.Expr {
			to := map[*tir.Var]tir.Expr{}
			for d, a := range axes {
				to[a.Var] = i[d]
			}
			to[row.Var] = tir.Add(i[len(i)-2], tir.IntConst(row.Var.Type, 1))
			var next []tir.Expr
			for _, x := range at {
				next = append(next, tir.Substitute(x, to))
			}
			return next
		})
	})
	if !PastCaches(s, root) {
		st.PrefetchAt(root, vector, func(i ...tir.Expr) []tir.Expr { return i })
	}
}

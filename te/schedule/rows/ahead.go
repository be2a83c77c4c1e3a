package rows

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// beyondCache is the size in bytes of a result from which rows are fetched ahead.
const beyondCache = 2 << 20

// fetchAhead fetches, in each iteration of a loop over the vectors of a row, the place in the result that has the same
// index, and the elements of the next row that inputs have there.
func fetchAhead(s *te.Schedule, st *te.Stage, root *te.Tensor, vector *tir.IterVar) {
	if n := len(root.ProducerShape()); schedule.BytesOf(root) < beyondCache || n < 2 || len(st.Axes()) != n {
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
	if !schedule.NonTemporal(s, root) {
		st.PrefetchAt(root, vector, func(i ...tir.Expr) []tir.Expr { return i })
	}
}

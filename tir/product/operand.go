package product

import (
	"math"
	"slices"

	"tvmgo/tir"
)

// factor is a matrix that is multiplied: which loops run over its dimensions.
type factor struct {
	buffer *tir.Buffer
	dims   []int   // per dimension: the dimension of C that runs over it; along: the sum; none: a constant index
	offset []int64 // per dimension: the constant index
}

const (
	along = -1
	none  = -2
)

// product assembles the product; nil if a library cannot compute it.
func (m *match) product(a, b *tir.BufferLoad, c *tir.Buffer) *Product {
	sum, k := m.sum(a)
	if k == nil {
		return nil
	}
	x, y := m.factor(a, sum), m.factor(b, sum)
	if x == nil || y == nil {
		return nil
	}
	onlyX, onlyY := lastOnly(x, y, len(m.dims)), lastOnly(y, x, len(m.dims))
	if onlyX < 0 || onlyY < 0 {
		return nil // a vector is no matrix
	}
	p := &Product{K: k}
	steps := strides(c)
	row, column := onlyX, onlyY
	if !p.isOne(c, steps, onlyY) { // a row must be contiguous: otherwise it is the transposed product
		if x, y, row, column = y, x, onlyY, onlyX; !p.isOne(c, steps, column) {
			return nil
		}
	}
	p.M, p.N = c.Shape[row], c.Shape[column]
	batch := make([]tir.Expr, len(m.dims))
	for d := range m.dims {
		if d == row || d == column {
			continue
		}
		v := tir.NewVar("batch", c.Shape[d].DType())
		batch[d] = v
		p.Batch = append(p.Batch, &tir.For{Var: v, Min: tir.IntConst(v.Type, 0), Extent: c.Shape[d]})
	}
	if !p.fits(p.M) || !p.fits(p.N) || !p.fits(p.K) {
		return nil
	}
	ok := p.operand(&p.A, x, row, along, p.K, p.M, batch) && p.operand(&p.B, y, along, column, p.N, p.K, batch)
	if !ok {
		return nil
	}
	p.C = Operand{Buffer: c, Lead: steps[row]}
	for d := range m.dims {
		i := batch[d]
		if i == nil {
			i = tir.IntConst(c.Shape[d].DType(), 0)
		}
		p.C.First = append(p.C.First, i)
	}
	if !p.leads(&p.C, p.N) {
		return nil
	}
	return p
}

// sum returns the form and the extent of the sum, which is one dimension of a factor.
func (m *match) sum(a *tir.BufferLoad) (form, tir.Expr) {
	for _, e := range a.Indices {
		f, ok := m.linear(e)
		if !ok {
			return form{}, nil
		}
		for v := range f.coef {
			if slices.Contains(m.reduced, v) {
				for _, v := range m.reduced {
					if n, ok := tir.IntValue(m.extents[v]); f.coef[v] == 0 && !(ok && n == 1) {
						return form{}, nil
					}
				}
				f.rest = 0
				k := m.covers(f)
				return f, k
			}
		}
	}
	return form{}, nil
}

// factor determines what runs over the dimensions of a factor; nil if one is neither a dimension of C nor the sum.
func (m *match) factor(l *tir.BufferLoad, sum form) *factor {
	f := &factor{buffer: l.Buffer}
	if len(l.Indices) != len(l.Buffer.Shape) {
		return nil
	}
	sums := 0
	for _, e := range l.Indices {
		g, ok := m.linear(e)
		if !ok || g.rest < 0 {
			return nil
		}
		at := none
		switch {
		case len(g.coef) == 0:
		case g.equal(sum):
			at = along
			sums++
		default:
			at = slices.IndexFunc(m.dims, g.equal)
			if at < 0 || slices.Contains(f.dims, at) {
				return nil
			}
		}
		f.dims, f.offset = append(f.dims, at), append(f.offset, g.rest)
	}
	if sums != 1 {
		return nil
	}
	return f
}

// lastOnly returns the last dimension of C that runs over x and not over y; negative if there is none.
func lastOnly(x, y *factor, dims int) int {
	for d := dims - 1; d >= 0; d-- {
		if slices.Contains(x.dims, d) && !slices.Contains(y.dims, d) {
			return d
		}
	}
	return -1
}

// operand describes the layout of a factor: row and column are the indices of its rows and columns.
func (p *Product) operand(o *Operand, f *factor, row, column int, columns, rows tir.Expr, batch []tir.Expr) bool {
	steps := strides(f.buffer)
	*o = Operand{Buffer: f.buffer}
	for d, at := range f.dims {
		i := tir.IntConst(f.buffer.Shape[d].DType(), f.offset[d])
		if at >= 0 && batch[at] != nil {
			i = tir.Add(tir.NewCast(f.buffer.Shape[d].DType(), batch[at]), i)
			if f.offset[d] == 0 {
				i = tir.NewCast(f.buffer.Shape[d].DType(), batch[at])
			}
		}
		o.First = append(o.First, i)
	}
	r, c := slices.Index(f.dims, row), slices.Index(f.dims, column)
	if r < 0 || c < 0 {
		return false
	}
	switch {
	case p.isOne(f.buffer, steps, c):
		o.Lead = steps[r]
		return p.leads(o, columns)
	case p.isOne(f.buffer, steps, r):
		o.Transposed, o.Lead = true, steps[c]
		return p.leads(o, rows)
	}
	return false
}

// isOne reports whether the elements of a dimension are contiguous. If a stride is unknown and belongs to the last
// dimension, the program checks it at run time.
func (p *Product) isOne(b *tir.Buffer, steps []tir.Expr, d int) bool {
	if n, ok := tir.IntValue(steps[d]); ok {
		return n == 1
	}
	if d != len(steps)-1 || b.Strides == nil {
		return false
	}
	p.Conds = append(p.Conds, tir.EQ(steps[d], tir.IntConst(steps[d].DType(), 1)))
	return true
}

// leads reports whether rows of a length do not overlap, and makes Lead a value that libraries accept: at least 1.
func (p *Product) leads(o *Operand, length tir.Expr) bool {
	if !p.fits(o.Lead) {
		return false
	}
	n, ok := tir.IntValue(o.Lead)
	least, both := tir.IntValue(length)
	if ok && both {
		return n >= max(least, 1)
	}
	if o.Buffer.Strides != nil {
		t := tir.Int64
		p.Conds = append(p.Conds, tir.GE(tir.NewCast(t, o.Lead), tir.NewCast(t, length)))
	}
	o.Lead = tir.Max(o.Lead, tir.IntConst(o.Lead.DType(), 1))
	return true
}

// fits reports whether a number fits into 32 bits, or adds a check at run time.
func (p *Product) fits(e tir.Expr) bool {
	if n, ok := tir.IntValue(e); ok {
		return n >= 1 && n <= math.MaxInt32
	}
	if e.DType().Bits > 32 {
		p.Conds = append(p.Conds, tir.LE(e, tir.IntConst(e.DType(), math.MaxInt32)))
	}
	return true
}

// strides returns the strides of a buffer, explicit or not.
func strides(b *tir.Buffer) []tir.Expr {
	if b.Strides != nil {
		return b.Strides
	}
	all := make([]tir.Expr, len(b.Shape))
	var step tir.Expr = tir.I64(1)
	for d := len(all) - 1; d >= 0; d-- {
		all[d] = step
		n, ok := tir.IntValue(b.Shape[d])
		m, both := tir.IntValue(step)
		if ok && both {
			step = tir.I64(n * m)
		} else if both && m == 1 {
			step = b.Shape[d]
		} else {
			step = tir.Mul(tir.NewCast(tir.Int64, step), tir.NewCast(tir.Int64, b.Shape[d]))
		}
	}
	return all
}

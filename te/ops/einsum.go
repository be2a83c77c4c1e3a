package ops

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// Einsum sums products of elements of tensors, as an equation such as "bij,bjk->bik" describes them. On its left side
// are the letters of the dimensions of each tensor, separated by commas, on its right side those of the result: over
// the other ones the products are summed. A letter that occurs several times in a tensor selects a diagonal. "..."
// stands for any further dimensions, which are broadcast. Without "->" the result has the dimensions of "...", then
// the letters that occur once, sorted. Sizes of a letter must be equal, or 1. All tensors have the same type; sums of
// 16-bit floats are computed in float32, and integers wrap.
//
// Several tensors are multiplied from the left to the right. A product of two that is one of matrices, with or without
// batches, is a Matmul.
func Einsum(name, equation string, all ...*te.Tensor) *te.Tensor {
	if len(all) == 0 {
		return failed(name, "equation %q: there are no tensors: want one or more", equation)
	}
	if bad := check(name, -1, all...); bad != nil {
		return bad
	}
	if bad := numbers.of(name, all...); bad != nil {
		return bad
	}
	if bad := sameType(name, all...); bad != nil {
		return bad
	}
	e, err := parseEinsum(equation, all)
	if err != nil {
		return failed(name, "equation %q: %w", equation, err)
	}
	t := all[0].ProducerDType()
	e.work = workType(t)
	left := e.operands[0]
	for k := 1; k < len(all); k++ {
		var keep []string // what the result or later operands have
		for _, o := range append([]labelled{e.result}, e.operands[k+1:]...) {
			keep = append(keep, o.labels...)
		}
		left = e.product(left, e.operands[k], keep, fmt.Sprintf("%s.product%d", name, k))
	}
	if e.work == t {
		return e.sum(e.result.labels, name, left)
	}
	return Cast(e.sum(e.result.labels, name+".sum", left), t, name)
}

// labelled is a tensor with a label for each dimension: a letter, or the place of a dimension of "..." from the right.
type labelled struct {
	t      *te.Tensor
	labels []string
}

type einsum struct {
	operands []labelled
	result   labelled
	sizes    map[string]tir.Expr
	work     tir.Type // of products and sums
}

// parseEinsum returns the labels of an equation, and their sizes.
func parseEinsum(equation string, all []*te.Tensor) (*einsum, error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(all) {
		return nil, fmt.Errorf("it has %d terms for %d tensors: want equal numbers", len(terms), len(all))
	}
	e := &einsum{sizes: map[string]tir.Expr{}}
	most := 0 // dimensions of "..."
	counts := map[string]int{}
	for k, term := range terms {
		s := all[k].ProducerShape()
		labels, further, err := dimensionLabels(term, len(s))
		if err != nil {
			return nil, fmt.Errorf("term %q for tensor %s, which has %d dimensions: %w", term, all[k].ProducerName(), len(s),
				err)
		}
		most = max(most, further)
		for d, l := range labels {
			counts[l]++
			old := e.sizes[l]
			switch n := s[d]; {
			case old == nil || isOne(old):
				e.sizes[l] = n
			case !isOne(n) && !arith.ProveEqual(old, n):
				return nil, fmt.Errorf("dimension %d of tensor %s is %s, and that of another %q is %s: want equal sizes, or 1",
					d, all[k].ProducerName(), text.Print(n), l, text.Print(old))
			}
		}
		e.operands = append(e.operands, labelled{all[k], labels})
	}
	var broadcast []string
	for k := most; k > 0; k-- {
		broadcast = append(broadcast, fmt.Sprint(k))
	}
	if !explicit {
		e.result.labels = broadcast
		var once []string
		for l, n := range counts {
			if n == 1 && unicode.IsLetter(rune(l[0])) {
				once = append(once, l)
			}
		}
		slices.Sort(once)
		e.result.labels = append(e.result.labels, once...)
		return e, nil
	}
	dims := len(right)
	if strings.Contains(right, "...") {
		dims += most - len("...")
	}
	labels, _, err := dimensionLabels(right, dims)
	if err != nil {
		return nil, fmt.Errorf("result %q: %w", right, err)
	}
	for k, l := range labels {
		if counts[l] == 0 {
			return nil, fmt.Errorf("result %q: no tensor has a dimension %s", right, l)
		}
		if slices.Contains(labels[:k], l) {
			return nil, fmt.Errorf("result %q: %s occurs twice", right, l)
		}
	}
	e.result.labels = labels
	return e, nil
}

// dimensionLabels returns the labels of the dimensions of a term, and how many of them "..." stands for.
func dimensionLabels(term string, dims int) (labels []string, further int, err error) {
	before, after, dots := strings.Cut(term, "...")
	for _, c := range before + after {
		if c > unicode.MaxASCII || !unicode.IsLetter(c) {
			return nil, 0, fmt.Errorf("found %q: want letters, and \"...\" at most once", c)
		}
	}
	further = dims - len(before) - len(after)
	if further < 0 || further > 0 && !dots {
		return nil, 0, fmt.Errorf("it has %d letters: want one for each dimension, or \"...\"", len(before)+len(after))
	}
	labels = strings.Split(before, "")
	for k := further; k > 0; k-- {
		labels = append(labels, fmt.Sprint(k))
	}
	return append(labels, strings.Split(after, "")...), further, nil
}

// at returns an element of an operand, given the index of each label. Dimensions of size 1 are broadcast.
func (e *einsum) at(o labelled, index map[string]tir.Expr) tir.Expr {
	i := make([]tir.Expr, len(o.labels))
	for d, l := range o.labels {
		i[d] = index[l]
	}
	return castTo(e.work, o.t.At(pickAt(o.t.ProducerShape(), i)...))
}

// shape returns the sizes of labels.
func (e *einsum) shape(labels []string) []tir.Expr {
	s := make([]tir.Expr, len(labels))
	for d, l := range labels {
		s[d] = e.sizes[l]
	}
	return s
}

// sum computes the labels of a result from operands, by a sum over the other labels.
func (e *einsum) sum(labels []string, name string, all ...labelled) *te.Tensor {
	index := map[string]tir.Expr{}
	var over []*tir.IterVar
	for _, o := range all {
		for _, l := range o.labels {
			if index[l] == nil && !slices.Contains(labels, l) {
				k := reduceAxis(e.sizes[l], "k")
				index[l], over = k.Var, append(over, k)
			}
		}
	}
	return te.Compute(e.shape(labels), name, func(i ...tir.Expr) tir.Expr {
		for d, l := range labels {
			index[l] = i[d]
		}
		value := e.at(all[0], index)
		for _, o := range all[1:] {
			value = tir.Mul(value, e.at(o, index))
		}
		if len(over) == 0 {
			return value
		}
		return te.Sum(value, over...)
	})
}

// product multiplies two operands, and sums over what only they have.
func (e *einsum) product(x, y labelled, keep []string, name string) labelled {
	whole := func(o labelled, l string) bool { // the operand has the label once, with its whole size
		d := slices.Index(o.labels, l)
		return d >= 0 && !slices.Contains(o.labels[d+1:], l) && arith.ProveEqual(o.t.ProducerShape()[d], e.sizes[l])
	}
	var batch, rows, columns, inner, all []string
	isProduct := true // no size of 1 is broadcast
	for _, l := range append(slices.Clone(x.labels), y.labels...) {
		if slices.Contains(all, l) {
			continue
		}
		all = append(all, l)
		inX, inY, kept := whole(x, l), whole(y, l), slices.Contains(keep, l)
		if !(inX && inY) && slices.Contains(x.labels, l) && slices.Contains(y.labels, l) {
			isProduct = false
		}
		switch {
		case inX && inY && kept:
			batch = append(batch, l)
		case inX && inY:
			inner = append(inner, l)
		case kept && slices.Contains(x.labels, l):
			rows = append(rows, l)
		case kept:
			columns = append(columns, l)
		}
	}
	labels := slices.Concat(batch, rows, columns)
	if !isProduct || len(inner) == 0 || len(rows) == 0 || len(columns) == 0 {
		return labelled{e.sum(labels, name, x, y), labels}
	}
	// matrices of all rows, of all columns, and of all that is summed over
	matrix := func(o labelled, first, second []string, name string) *te.Tensor {
		order := slices.Concat(batch, first, second)
		if !slices.Equal(o.labels, order) || slices.ContainsFunc(order, func(l string) bool { return !whole(o, l) }) {
			o = labelled{e.sum(order, name, o), order}
		}
		if len(first) == 1 && len(second) == 1 {
			return o.t
		}
		a, b := e.shape(first), e.shape(second)
		return Reshape(o.t, name+".matrix", append(e.shape(batch), indexSize(a, product(a)), indexSize(b, product(b)))...)
	}
	options := []MatmulOption{AccumulateIn(e.work)}
	a, b := [2][]string{rows, inner}, [2][]string{inner, columns}
	if slices.Equal(x.labels, slices.Concat(batch, inner, rows)) {
		a[0], a[1] = a[1], a[0]
		options = append(options, TransposeX())
	}
	if slices.Equal(y.labels, slices.Concat(batch, columns, inner)) {
		b[0], b[1] = b[1], b[0]
		options = append(options, TransposeY())
	}
	m := Matmul(matrix(x, a[0], a[1], name+".x"), matrix(y, b[0], b[1], name+".y"), name, options...)
	if len(rows) > 1 || len(columns) > 1 {
		m = Reshape(m, name+".shape", e.shape(labels)...)
	}
	return labelled{m, labels}
}

package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// block is a part of a function in which instructions follow each other: what is computed in it is known to the blocks
// inside it, and not to others.
type block struct {
	outer *block
	slots map[string]int // of the heap, by the text of an expression
}

func (b *block) slot(key string) (int, bool) {
	for ; b != nil; b = b.outer {
		if at, ok := b.slots[key]; ok {
			return at, true
		}
	}
	return 0, false
}

// newSlot reserves a slot of the heap for an expression, which the caller computes.
func (f *function) newSlot(e tir.Expr) int {
	at := f.numSlots
	f.numSlots++
	f.block.slots[text.Print(e)] = at
	return at
}

// need computes those expressions of type int32 that are no constants and that the heap does not have.
func (f *function) need(exprs []tir.Expr) error {
	var missing []tir.Expr
	seen := map[string]bool{}
	for _, e := range exprs {
		key := text.Print(e)
		if _, ok := e.(*tir.IntImm); ok || seen[key] {
			continue
		}
		if _, ok := f.block.slot(key); ok {
			continue
		}
		if v, ok := e.(*tir.Var); ok {
			return fmt.Errorf("size %s is not known here: no parameter has it as a dimension", v.Name)
		}
		seen[key] = true
		missing = append(missing, e)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := f.need(asExprs(variables(missing...))); err != nil {
		return err
	}
	slots := make([]int, len(missing))
	for i, e := range missing {
		slots[i] = f.newSlot(e)
	}
	f.store(slots, missing)
	return nil
}

// store emits the computation of expressions, whose variables the heap has, in this order.
func (f *function) store(slots []int, exprs []tir.Expr) {
	heap := tir.NewBuffer("heap", tir.Int64, tir.NewVar("slots", tir.Int32))
	at := func(slot int) tir.Expr { return tir.I32(int32(slot)) }
	values := map[*tir.Var]tir.Expr{}
	for _, v := range variables(exprs...) {
		slot, _ := f.block.slot(v.Name)
		values[v] = tir.BufferAt(heap, at(slot))
	}
	var stores []tir.Stmt
	for i, e := range exprs {
		stores = append(stores, &tir.BufferStore{Buffer: heap, Indices: []tir.Expr{at(slots[i])},
			Value: tir.NewCast(tir.Int64, wide(e, values))})
	}
	param := tir.NewVar("heap_handle", handleType)
	fn := &tir.PrimFunc{Name: "shape_func", Result: tir.Void, Params: []*tir.Var{param},
		Buffers: map[*tir.Var]*tir.Buffer{param: heap},
		Body:    tir.Sequence(stores...)}
	f.emitTo(vmcode.Void, f.callee(f.addShapeFunction(fn)), register(f.heap))
}

// wide returns an expression with integers of type int64 and the values of variables.
func wide(e tir.Expr, values map[*tir.Var]tir.Expr) tir.Expr {
	switch e := e.(type) {
	case *tir.Var:
		return values[e]
	case *tir.IntImm:
		if tir.IsInt(e.Type) {
			return tir.I64(e.Value)
		}
		return e
	case *tir.Cast:
		if tir.IsInt(e.Type) && tir.IsInt(e.Value.DType()) {
			return wide(e.Value, values)
		}
	}
	switch e := e.(type) {
	case *tir.Binary:
		return tir.NewBinary(e.Op, wide(e.A, values), wide(e.B, values))
	case *tir.Select:
		return tir.NewSelect(wide(e.Cond, values), wide(e.Then, values), wide(e.Else, values))
	case *tir.Not:
		return tir.NewNot(wide(e.A, values))
	}
	return tir.MapExpr(e, func(p tir.Expr) tir.Expr {
		w := wide(p, values)
		if w.DType() != p.DType() {
			w = tir.NewCast(p.DType(), w)
		}
		return w
	})
}

// pairs returns the codes and operands of make_shape for sizes.
func (f *function) pairs(sizes []tir.Expr) []vmcode.Operand {
	var out []vmcode.Operand
	for _, e := range sizes {
		if c, ok := e.(*tir.IntImm); ok {
			out = append(out, number(0), number(c.Value))
			continue
		}
		slot, _ := f.block.slot(text.Print(e))
		out = append(out, number(1), number(int64(slot)))
	}
	return out
}

// shapeOf returns an operand with the shape of these sizes.
func (f *function) shapeOf(sizes []tir.Expr) (vmcode.Operand, error) {
	dims := make([]int64, len(sizes))
	static := true
	for d, e := range sizes {
		c, ok := e.(*tir.IntImm)
		if static = static && ok; static {
			dims[d] = c.Value
		}
	}
	if static {
		return f.shape(dims...), nil
	}
	if err := f.need(sizes); err != nil {
		return vmcode.Operand{}, err
	}
	args := append([]vmcode.Operand{register(f.heap), number(int64(len(sizes)))}, f.pairs(sizes)...)
	return register(f.emit("vm.builtin.make_shape", args...)), nil
}

// match checks a shape, a tensor or a shape tuple, against sizes, and stores the variables that are new.
func (f *function) match(v vmcode.Operand, sizes []tir.Expr, context string) error {
	var later []tir.Expr // formulas of variables that this shape defines
	first, second := []vmcode.Operand{}, []vmcode.Operand{}
	for _, e := range sizes {
		if c, ok := e.(*tir.IntImm); ok {
			first = append(first, number(0), number(c.Value))
		} else if slot, ok := f.block.slot(text.Print(e)); ok {
			first = append(first, number(3), number(int64(slot)))
		} else if x, ok := e.(*tir.Var); ok {
			first = append(first, number(1), number(int64(f.newSlot(x))))
		} else {
			first = append(first, number(2), number(0))
			later = append(later, e)
			continue
		}
	}
	emit := func(pairs []vmcode.Operand) {
		args := append([]vmcode.Operand{v, register(f.heap), number(int64(len(sizes)))}, pairs...)
		f.emitTo(vmcode.Void, f.callee("vm.builtin.match_shape"), append(args, f.text(context))...)
	}
	if emit(first); len(later) == 0 {
		return nil
	}
	if err := f.need(later); err != nil {
		return err
	}
	for _, e := range sizes {
		if slot, ok := f.block.slot(text.Print(e)); ok && !isConstant(e) {
			second = append(second, number(3), number(int64(slot)))
		} else {
			second = append(second, number(2), number(0))
		}
	}
	emit(second)
	return nil
}

// require emits the checks of a step, unless the code before it has them.
func (f *function) require(s *step) error {
	for _, c := range s.check {
		key := text.Print(c.Have) + " = " + text.Print(c.Want)
		if _, done := f.block.slot(key); done {
			continue
		}
		f.block.slots[key] = -1
		have, err := f.shapeOf([]tir.Expr{c.Have})
		if err != nil {
			return err
		}
		if err := f.need([]tir.Expr{c.Want}); err != nil {
			return err
		}
		if err := f.match(have, []tir.Expr{c.Want}, fmt.Sprintf("%s: %s", s.node.What(), c.Rule)); err != nil {
			return err
		}
	}
	return nil
}

func isConstant(e tir.Expr) bool {
	_, ok := e.(*tir.IntImm)
	return ok
}

// variables returns the variables of expressions, sorted by name.
func variables(exprs ...tir.Expr) []*tir.Var {
	found := map[*tir.Var]bool{}
	var list []*tir.Var
	for _, e := range exprs {
		tir.Walk(e, func(n any) bool {
			if v, ok := n.(*tir.Var); ok && !found[v] {
				found[v] = true
				list = append(list, v)
			}
			return true
		})
	}
	slices.SortFunc(list, func(a, b *tir.Var) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func asExprs(vars []*tir.Var) []tir.Expr {
	out := make([]tir.Expr, len(vars))
	for i, v := range vars {
		out[i] = v
	}
	return out
}

// annotation returns the type of a value as TVM prints it.
func annotation(v *graph.Value) string {
	dims := make([]string, len(v.Shape))
	for d, e := range v.Shape {
		dims[d] = text.Print(e)
	}
	list := strings.Join(dims, ", ")
	if len(dims) == 1 {
		list += ","
	}
	return fmt.Sprintf("R.Tensor((%s), dtype=%q)", list, tir.TypeName(v.DType))
}

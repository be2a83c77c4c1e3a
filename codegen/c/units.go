package c

import (
	"cmp"
	"errors"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"tvmgo/codegen/abi"
	"tvmgo/target"
	"tvmgo/tir"
)

// unitWork is the approximate number of program nodes in a unit, and entryWork the number that the entry of a function
// counts as. Neither depends on the machine: the same program gives the same units.
const (
	unitWork  = 6000
	entryWork = 30
)

// EmitUnits is Emit, but writes a long program as several C files, which can be compiled in parallel and are linked
// together. Functions that call one another, and those that share a body, are in one of them, in the module's order.
// The functions that check arguments are in a file of their own.
func (e *Emitter) EmitUnits(m *tir.IRModule, t *target.Target) ([]string, error) {
	if m == nil || e.Kernels {
		text, err := e.Emit(m, t)
		return []string{text}, err
	}
	units := divide(m.Funcs)
	if len(units) < 2 {
		text, err := e.Emit(m, t)
		return []string{text}, err
	}
	attrs := map[string]any{}
	maps.Copy(attrs, m.Attrs)
	others, _ := m.Attrs[AttrProgram].(string)
	all := []string{others}
	for _, f := range m.Funcs {
		all = append(all, f.Name)
	}
	attrs[AttrProgram] = strings.TrimSpace(strings.Join(all, " "))
	part := *e
	part.several = true
	texts, pieces, errs := make([]string, len(units)), make([][]abi.Piece, len(units)), make([]error, len(units))
	Together(len(units), func(i int) {
		texts[i], pieces[i],
			errs[i] = part.emit(&tir.IRModule{Funcs: units[i], Attrs: attrs}, t)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return e.addShared(texts, pieces), nil
}

// EmitAll returns a module's C code for the CPU, and the units that may be compiled instead.
func EmitAll(m *tir.IRModule, t *target.Target) (code string, units []string, err error) {
	var e Emitter
	if units, err = e.EmitUnits(m, t); err != nil {
		return "", nil, err
	}
	if len(units) == 1 {
		return units[0], units, nil
	}
	code, err = e.Emit(m, t)
	return code, units, err
}

// Together runs n steps in parallel, at most one per processor.
func Together(n int, step func(i int)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, max(goruntime.GOMAXPROCS(0), 1))
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			step(i)
		})
	}
	wg.Wait()
}

// divide distributes functions among units.
func divide(funcs []*tir.PrimFunc) [][]*tir.PrimFunc {
	group := map[string]int{} // by function name: the index of a function of its group
	for i, f := range funcs {
		if f == nil || f.Body == nil {
			return nil // Emit reports the error
		}
		group[f.Name] = i
	}
	parent := make([]int, len(funcs))
	for i := range parent {
		parent[i] = i
	}
	var root func(i int) int
	root = func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	join := func(i, j int) {
		a, b := root(i), root(j)
		parent[max(a, b)] = min(a, b)
	}
	work := make([]int, len(funcs))
	total := 0
	same := SameBodies(funcs, false)
	for i, f := range funcs {
		work[i] = entryWork
		first := same[f]
		tir.Walk(f.Body, func(node any) bool {
			if c, ok := node.(*tir.Call); ok && c.Kind == tir.CallFunc {
				if j, known := group[c.Name]; known {
					join(i, j)
				}
			}
			if first == nil {
				work[i]++
			}
			return true
		})
		total += work[i]
	}
	// a shared body is in the unit of its first function, and the others follow, so that few units compile it again
	firstOf := map[*tir.PrimFunc]int{}
	for i, f := range funcs {
		firstOf[f] = i
	}
	order := make([][]int, len(funcs)) // groups, by the index of the first function of their body
	for i := range funcs {
		r := root(i)
		at := r
		if first := same[funcs[r]]; first != nil {
			at = root(firstOf[first])
		}
		order[at] = append(order[at], i)
	}
	n := (total + unitWork - 1) / unitWork
	if n < 2 {
		return nil
	}
	share := (total + n - 1) / n
	var units [][]*tir.PrimFunc
	var unit []*tir.PrimFunc
	filled, unitRoots := 0, map[int]bool{}
	for _, list := range order {
		slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(root(i), root(j)) })
		for _, i := range list {
			if filled >= share && !unitRoots[root(i)] {
				units, unit, filled, unitRoots = append(units, unit), nil, 0, map[int]bool{}
			}
			unit = append(unit, funcs[i])
			filled += work[i]
			unitRoots[root(i)] = true
		}
	}
	return append(units, unit)
}

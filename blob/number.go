package blob

import (
	"fmt"
	"slices"
)

// Number numbers the modules of an import tree by the rule of TVM's exporters (docs/abi.md C.3). If that rule would put
// a module before one that imports it, which can happen with shared imports, importers are put first instead.
// imports[i] lists the modules that module i imports; the root is module 0. mergeable[i] means that module i is
// compiled into the library itself; all of these together become one "_lib" entry. Modules that the root does not reach
// are left out.
//
// entries[k] lists the modules of entry k: one module, or those of the library, in the order in which they were met. It
// is an [OrderError] if the library would import itself through another module.
func Number(imports [][]int, mergeable []bool) (entries [][]int, rowPtr, children []int, err error) {
	if err := checkImports(imports, len(mergeable)); err != nil {
		return nil, nil, nil, err
	}
	entries = numberDepthFirst(imports, mergeable)
	rows := importRows(entries, imports)
	if !importersFirst(rows) {
		order, cycle := topological(rows)
		if cycle != nil {
			return nil, nil, nil, &OrderError{Parent: entries[cycle[0]], Child: entries[cycle[1]]}
		}
		sorted := make([][]int, len(entries))
		for k, old := range order {
			sorted[k] = entries[old]
		}
		entries = sorted
		rows = importRows(entries, imports)
	}
	rowPtr = make([]int, 1, len(entries)+1)
	for _, row := range rows {
		children = append(children, row...)
		rowPtr = append(rowPtr, len(children))
	}
	return entries, rowPtr, children, nil
}

// numberDepthFirst walks from the root to the first mergeable modules on every path, and then on from these. All
// mergeable modules get the number of the first.
func numberDepthFirst(imports [][]int, mergeable []bool) (entries [][]int) {
	visited := make([]bool, len(imports))
	visited[0] = true
	library := -1
	walk := func(stack []int) (met []int) {
		for len(stack) > 0 {
			m := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch {
			case mergeable[m] && library < 0:
				met = append(met, m)
				continue
			case mergeable[m]:
				entries[library] = append(entries[library], m)
			default:
				entries = append(entries, []int{m})
			}
			for _, dep := range imports[m] {
				if !visited[dep] {
					visited[dep] = true
					stack = append(stack, dep)
				}
			}
		}
		return met
	}
	if merged := walk([]int{0}); len(merged) > 0 {
		library = len(entries)
		entries = append(entries, nil)
		walk(merged)
	}
	return entries
}

// importRows returns the imports of each entry as entry numbers, in increasing order and without the entry itself.
func importRows(entries, imports [][]int) [][]int {
	index := make([]int, len(imports))
	for k, members := range entries {
		for _, m := range members {
			index[m] = k
		}
	}
	rows := make([][]int, len(entries))
	for k, members := range entries {
		for _, m := range members {
			for _, dep := range imports[m] {
				if index[dep] != k {
					rows[k] = append(rows[k], index[dep])
				}
			}
		}
		slices.Sort(rows[k])
		rows[k] = slices.Compact(rows[k])
	}
	return rows
}

func importersFirst(rows [][]int) bool {
	for k, row := range rows {
		if len(row) > 0 && row[0] < k {
			return false
		}
	}
	return true
}

// topological returns the entry numbers so that importers come first; entry 0 is the first, and where several orders
// are possible, lower numbers come first. If there is a cycle, it returns an entry of the cycle and one that it
// imports.
func topological(rows [][]int) (order, cycle []int) {
	const (
		entered = 1 + iota
		done
	)
	state := make([]int, len(rows))
	next := make([]int, len(rows)) // the number of imports that were visited, from the end
	stack := []int{0}
	state[0] = entered
	for len(stack) > 0 {
		k := stack[len(stack)-1]
		if next[k] == len(rows[k]) {
			state[k] = done
			order = append(order, k)
			stack = stack[:len(stack)-1]
			continue
		}
		next[k]++
		child := rows[k][len(rows[k])-next[k]]
		switch state[child] {
		case entered:
			return nil, []int{k, child}
		case 0:
			state[child] = entered
			stack = append(stack, child)
		}
	}
	slices.Reverse(order)
	return order, nil
}

func checkImports(imports [][]int, modules int) error {
	if modules == 0 || len(imports) != modules {
		return fmt.Errorf("blob: number modules: %d lists of imports for %d modules", len(imports), modules)
	}
	for m, deps := range imports {
		for _, dep := range deps {
			if dep < 0 || dep >= modules {
				return fmt.Errorf("blob: number modules: module %d imports module %d of %d", m, dep, modules)
			}
		}
	}
	return nil
}

// OrderError means that modules cannot be merged into one library, because the library would import itself through a
// module that is not part of it.
type OrderError struct {
	Parent, Child []int // modules of an entry on the cycle, and of one that it imports
}

// Error names the modules of the cycle by their numbers.
func (e *OrderError) Error() string {
	return fmt.Sprintf("blob: number modules: module %d imports module %d, which imports the first: the modules that are "+
		"compiled into the "+
		"library become one, with the imports of all of them", e.Parent[0], e.Child[0])
}

package blob

import (
	"fmt"
	"slices"
)

// Number orders the modules of an import tree as blobs hold them: by the rule of TVM's exporters (docs/abi.md C.3), or,
// where that rule would put a module before one that imports it, as happens with shared imports, so that importers come
// first. imports[i] are the modules that module i imports; the root is module 0; mergeable[i] says that module i is
// compiled into the library itself, which together become one "_lib" entry. Modules that the root
// does not reach are left out.
//
// entries[k] lists the modules of entry k: one, or those of the library, in the order in which they were
// met. An [OrderError] says that the library would import itself by way of another module.
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

// numberDepthFirst goes from the root to the first mergeable modules on every way, then on from those: all of them
// are where the first is.
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

// importRows are the imports of each entry as numbers of entries, rising and without itself.
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

// topological lists entry numbers so that importers come first and entry 0 begins, in the order of the numbers where
// that is free. If there is a cycle, it returns an entry on it and one that it imports.
func topological(rows [][]int) (order, cycle []int) {
	const (
		entered = 1 + iota
		done
	)
	state := make([]int, len(rows))
	next := make([]int, len(rows)) // how many imports were looked at, from the end
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

// OrderError says that modules cannot be merged into one library: it would import itself, by way of a module that is
// not in it.
type OrderError struct {
	Parent, Child []int // modules of an entry on the cycle, and of one that it imports
}

// Error names the modules on the cycle by their numbers.
func (e *OrderError) Error() string {
	return fmt.Sprintf("blob: number modules: module %d imports module %d, which imports the first: the modules that are "+
		"compiled into the "+
		"library become one, with the imports of all of them", e.Parent[0], e.Child[0])
}

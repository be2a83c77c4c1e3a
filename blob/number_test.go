package blob

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/testseed"
)

func TestNumber(t *testing.T) {
	for name, c := range map[string]struct {
		imports          [][]int
		mergeable        []bool
		entries          [][]int
		rowPtr, children []int
	}{
		"a library alone": {
			imports: [][]int{{}}, mergeable: []bool{true},
			entries: [][]int{{0}}, rowPtr: []int{0, 0}, children: nil,
		},
		"library with two devices, which come in reverse order": {
			imports: [][]int{{1, 2}, {}, {}}, mergeable: []bool{true, false, false},
			entries: [][]int{{0}, {2}, {1}}, rowPtr: []int{0, 2, 2, 2}, children: []int{1, 2},
		},
		"several libraries are one": {
			imports: [][]int{{1, 2}, {3}, {3}, {}}, mergeable: []bool{true, true, true, false},
			entries: [][]int{{0, 2, 1}, {3}}, rowPtr: []int{0, 1, 1}, children: []int{1},
		},
		"the library behind an executable": {
			imports: [][]int{{1, 2}, {3}, {}, {}}, mergeable: []bool{false, true, false, false},
			entries: [][]int{{0}, {2}, {1}, {3}}, rowPtr: []int{0, 2, 2, 3, 3}, children: []int{1, 2, 3},
		},
		"shared imports, for which the rule of exporters has no order": {
			imports: [][]int{{1, 1, 2}, {2}, {}}, mergeable: []bool{false, false, false},
			entries: [][]int{{0}, {1}, {2}}, rowPtr: []int{0, 2, 3, 3}, children: []int{1, 2, 2},
		},
		"a library behind a module that it is met before": {
			imports: [][]int{{1, 2}, {2}, {3}, {}}, mergeable: []bool{false, false, true, false},
			entries: [][]int{{0}, {1}, {2}, {3}}, rowPtr: []int{0, 2, 3, 4, 4}, children: []int{1, 2, 2, 3},
		},
		"a module that nobody imports": {
			imports: [][]int{{}, {0}}, mergeable: []bool{true, false},
			entries: [][]int{{0}}, rowPtr: []int{0, 0}, children: nil,
		},
	} {
		entries, rowPtr, children, err := Number(c.imports, c.mergeable)
		require.NoError(t, err, name)
		require.Equal(t, c.entries, entries, name)
		require.Equal(t, c.rowPtr, rowPtr, name)
		require.Equal(t, c.children, children, name)
	}
}

func TestNumber_LibraryOnBothSides(t *testing.T) {
	// A library imports a device module, which imports another library.
	_, _, _, err := Number([][]int{{1}, {2}, {}}, []bool{true, false, true})
	var order *OrderError
	require.ErrorAs(t, err, &order)
	require.ErrorContains(t, err, "imports the first")
}

func TestNumber_Refuses(t *testing.T) {
	_, _, _, err := Number(nil, nil)
	require.ErrorContains(t, err, "0 lists of imports for 0 modules")
	_, _, _, err = Number([][]int{{}}, []bool{true, false})
	require.ErrorContains(t, err, "1 lists of imports for 2 modules")
	for _, dep := range []int{-1, 1} {
		_, _, _, err = Number([][]int{{dep}}, []bool{true})
		require.ErrorContains(t, err, "of 1")
	}
}

// For every tree, there is either an error, or every module that the root reaches is in exactly one entry, and the
// imports of the entries are exactly those of the modules.
func TestNumber_Random(t *testing.T) {
	rng := testseed.Rand(t)
	good := 0
	for range 2000 {
		n := 1 + rng.IntN(12)
		imports, mergeable := make([][]int, n), make([]bool, n)
		for i := range n {
			mergeable[i] = rng.IntN(3) == 0
			for dep := i + 1; dep < n; dep++ {
				if rng.IntN(6) == 0 {
					imports[i] = append(imports[i], dep)
				}
			}
			rng.Shuffle(len(imports[i]), func(a, b int) { imports[i][a], imports[i][b] = imports[i][b], imports[i][a] })
		}
		entries, rowPtr, children, err := Number(imports, mergeable)
		if cyclic := mergedCycle(imports, mergeable); cyclic || err != nil {
			var order *OrderError
			require.ErrorAs(t, err, &order)
			require.True(t, cyclic)
			continue
		}
		good++
		entryOf := map[int]int{}
		for k, members := range entries {
			for _, m := range members {
				require.NotContains(t, entryOf, m)
				entryOf[m] = k
			}
			require.True(t, len(members) == 1 ||
				!slices.ContainsFunc(members, func(m int) bool { return !mergeable[m] }))
		}
		require.Zero(t, entryOf[0], "the root comes first")
		reached, stack := map[int]bool{0: true}, []int{0}
		want := make([]map[int]bool, len(entries))
		for k := range want {
			want[k] = map[int]bool{}
		}
		for len(stack) > 0 {
			m := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			require.Contains(t, entryOf, m)
			for _, dep := range imports[m] {
				if entryOf[dep] != entryOf[m] {
					want[entryOf[m]][entryOf[dep]] = true
				}
				if !reached[dep] {
					reached[dep] = true
					stack = append(stack, dep)
				}
			}
		}
		require.Len(t, entryOf, len(reached))
		for k := range entries {
			row := children[rowPtr[k]:rowPtr[k+1]]
			require.True(t, slices.IsSorted(row))
			require.Len(t, row, len(want[k]))
			for _, child := range row {
				require.Greater(t, child, k)
				require.True(t, want[k][child])
			}
		}
	}
	require.Greater(t, good, 500)
}

// mergedCycle searches for a path from a mergeable module through one that isn't, both reachable from the root, back to
// a mergeable one.
func mergedCycle(imports [][]int, mergeable []bool) bool {
	reach := make([][]bool, len(imports))
	for i := len(imports) - 1; i >= 0; i-- { // imports have larger numbers
		reach[i] = make([]bool, len(imports))
		for _, dep := range imports[i] {
			reach[i][dep] = true
			for k, r := range reach[dep] {
				reach[i][k] = reach[i][k] || r
			}
		}
	}
	for a := range imports {
		for mid := range imports {
			for b := range imports {
				if mergeable[a] && !mergeable[mid] && mergeable[b] && (a == 0 || reach[0][a]) && reach[a][mid] &&
					reach[mid][b] {
					return true
				}
			}
		}
	}
	return false
}

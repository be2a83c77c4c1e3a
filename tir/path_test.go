package tir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "tvmgo/tir"
)

// WalkPaths visits what Walk visits, and names places as Check does.
func TestWalkPaths(t *testing.T) {
	w := newWellFormed()
	paths := map[any]string{}
	var visited []any
	WalkPaths(w.main, func(node any, path func() string) bool {
		paths[node] = path()
		visited = append(visited, node)
		return true
	})
	var want []any
	Walk(w.main, func(node any) bool { want = append(want, node); return true })
	require.Len(t, visited, len(want))
	for i := range want {
		require.True(t, want[i] == visited[i], "node %d is %T, want %T", i, visited[i], want[i])
	}

	w.value.Type = Float32 // which no integer has
	err := Check(w.module)
	require.ErrorContains(t, err, "main."+paths[w.branch.Cond]+".b: ")
	require.Contains(t, paths[w.exp], ".attr(pragma).body.value.b")
}

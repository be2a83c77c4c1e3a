package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Modules are printed in the order of the tree, shared ones once, however long a chain of imports is.
func TestWriteText_Tree(t *testing.T) {
	shown := func(imports ...[]int) []string {
		b := &Blob{Symbol: "s", Layout: "modern"}
		for i, list := range imports {
			b.Modules = append(b.Modules, Module{Index: i, Kind: "m", Imports: list})
		}
		var text strings.Builder
		require.NoError(t, (&Report{Blob: b}).WriteText(&text))
		_, tree, _ := strings.Cut(text.String(), "modern layout, 0 bytes\n")
		return strings.Split(strings.TrimSuffix(tree, "\n"), "\n")
	}
	require.Equal(t, []string{"  [0] m, 0 bytes", "    [1] m, 0 bytes", "      [3] m, 0 bytes", "    [2] m, 0 bytes",
		"      [3] m, see above", "    [3] m, see above"},
		shown([]int{1, 2, 3}, []int{3}, []int{3}, nil))
	const long = 200_000
	chain := make([][]int, long)
	for i := range long - 1 {
		chain[i] = []int{i + 1}
	}
	lines := shown(chain...)
	require.Len(t, lines, long)
	require.Equal(t, fmt.Sprintf("[%d] m, 0 bytes", long-1), strings.TrimLeft(lines[long-1], " "))
}

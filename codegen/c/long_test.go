package c

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Placeholders stand for long pieces of code, which may contain others. Replacing them gives the complete text.
func TestLongPieces(t *testing.T) {
	var l longPieces
	plain, marked := "x", "x"
	longest := 0
	for i := range 5000 {
		plain, marked = fmt.Sprintf("(%s + y%d)", plain, i), l.shorten(fmt.Sprintf("(%s + y%d)", marked, i))
		longest = max(longest, len(marked))
	}
	require.LessOrEqual(t, longest, longPiece)
	require.Equal(t, "f("+plain+", "+plain+");", l.whole("f("+marked+", "+marked+");"))

	piece := strings.Repeat("y", longPiece+1)
	require.Equal(t, l.shorten(piece), l.shorten(piece), "equal pieces have equal placeholders")
	require.NotEqual(t, l.shorten(piece), l.shorten(piece+"y"))
	require.Equal(t, "z", l.shorten("z"))

	for name, found := range map[string]bool{"x": true, "y0": true, "y4999": true, "y": false, "f": true, "y5000": false} {
		require.Equal(t, found, l.hasWord("f("+marked+", "+marked+");", name), name)
	}
}

//go:build opencl

package opencl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitSource(t *testing.T) {
	for _, c := range []struct {
		source string
		want   map[string]string
	}{
		{"", nil},
		{"__kernel void f() {}", nil},
		{"a // Function: f\n", nil},
		{"// Function: f\nf body", map[string]string{"f": "// Function: f\nf body"}},
		{"// Function: f", map[string]string{"f": "// Function: f"}},
		{"#define X 1\n// Function: f\nf body\n// Function: g \r\ng body\n", map[string]string{
			"f": "#define X 1\n// Function: f\nf body\n", "g": "#define X 1\n// Function: g \r\ng body\n"}},
	} {
		got, err := splitSource([]byte(c.source))
		require.NoError(t, err, "%q", c.source)
		require.Equal(t, c.want, got, "%q", c.source)
	}
	for _, bad := range []string{"// Function: \nx", "// Function: f\n// Function: f\n"} {
		_, err := splitSource([]byte(bad))
		require.ErrorContains(t, err, "occurs twice, or has no name", "%q", bad)
	}
}

func FuzzSplitSource(f *testing.F) {
	f.Add([]byte("p\n// Function: f\nx\n// Function: g\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		pieces, err := splitSource(source)
		if err != nil {
			return
		}
		for name, piece := range pieces {
			require.NotEmpty(t, name)
			require.Contains(t, piece, marker)
			require.LessOrEqual(t, len(piece), len(source))
		}
		require.Equal(t, pieces == nil, !strings.HasPrefix(string(source), marker) && !strings.Contains(string(source),
			"\n"+marker))
	})
}

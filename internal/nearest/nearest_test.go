package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	names := []string{"num-cores", "mcpu", "mattr", "nvidia/nvidia-h200", "nvidia/nvidia-h100", "opencl"}
	for name, want := range map[string]string{"num_cores": "num-cores", "NUM-CORES": "num-cores", "mcqu": "mcpu",
		"mtatr": "mattr", "opncl": "opencl",
		"h200": "nvidia/nvidia-h200", "nvidia/nvidia-h101": "nvidia/nvidia-h100", "quite another": "", "": "", strings.Repeat(
			"m", 300): ""} {
		require.Equal(t, want, Name(name, names), name)
	}
}

// Distances are those of the plain definition, by recursion.
func TestDistance(t *testing.T) {
	var plain func(a, b string) int
	plain = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		if a[0] == b[0] {
			return plain(a[1:], b[1:])
		}
		d := 1 + min(plain(a[1:], b), plain(a, b[1:]), plain(a[1:], b[1:]))
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			d = min(d, 1+plain(a[2:], b[2:]))
		}
		return d
	}
	words := []string{"", "a", "ab", "ba", "abc", "acb", "bca", "cab", "aabb", "abab", "cuont", "count", "mtatr", "mattr"}
	for _, a := range words {
		for _, b := range words {
			for limit := range 7 {
				require.Equal(t, min(plain(a, b), limit), Distance(a, b, limit), "%q, %q, %d", a, b, limit)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	names := []string{"count", "exp", "int32", "i"}
	require.Equal(t, "count", Within("cuont", names, 2))
	require.Equal(t, "", Within("cuont", names, 1))
	require.Equal(t, "int32", Within("INT32", names, 1))
	require.Equal(t, "", Within("j", names, 1))
}

package text

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/json"
)

// TestRoundTrip_RandomModules writes modules as text and as JSON, and reads them again: they are the same, and are
// written the same.
func TestRoundTrip_RandomModules(t *testing.T) {
	cases := uint64(2500)
	if testing.Short() {
		cases = 1000
	}
	seen := map[string]int{}
	for seed := range cases {
		m := tirnodes.Module(seed)
		for _, f := range m.Funcs {
			tir.Walk(f, func(n any) bool { seen[fmt.Sprintf("%T", n)]++; return true })
		}
		roundTrip(t, fmt.Sprint("seed ", seed), m)
	}
	for _, n := range tir.NodeTypes() {
		if n.Key != "" || n.Name == "Seq" { // others are in no finished module
			require.Greater(t, seen["*tir."+n.Name], 20, "%s is hardly made", n.Name)
		}
	}
}

func roundTrip(t *testing.T, name string, m *tir.IRModule) {
	t.Helper()
	text := m.String()
	require.Equal(t, text, m.String(), name)
	parsed, err := Parse(text)
	require.NoError(t, err, "%s\n%s", name, text)
	require.Equal(t, "", textSame(m, parsed), "%s\n%s", name, text)
	require.Equal(t, text, parsed.String(), name)

	data, err := json.Marshal(m)
	require.NoError(t, err, "%s\n%s", name, text)
	read, err := json.Unmarshal(data)
	require.NoError(t, err, "%s\n%s", name, data)
	require.Equal(t, "", textSame(m, read), "%s\n%s", name, data)
	again, err := json.Marshal(read)
	require.NoError(t, err, name)
	require.Equal(t, string(data), string(again), name)
	require.Equal(t, text, read.String(), name)
}

// textSame says where two modules differ, "" if they don't. Variables and buffers that nothing binds stand for those of
// the same place.
func textSame(a, b any) string {
	if compare.EqualFree(a, b) {
		return ""
	}
	return "at " + compare.Difference(a, b)
}

package tir

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoundTrip_RandomModules writes modules as text and as JSON, and reads them again: they are the same, and are written the same.
func TestRoundTrip_RandomModules(t *testing.T) {
	cases := uint64(2500)
	if testing.Short() {
		cases = 1000
	}
	seen := map[string]int{}
	for seed := range cases {
		m := textGenModule(seed)
		for _, f := range m.Funcs {
			Walk(f, func(n any) bool { seen[fmt.Sprintf("%T", n)]++; return true })
		}
		roundTrip(t, fmt.Sprint("seed ", seed), m)
	}
	for _, n := range []any{&Var{}, &IntImm{}, &FloatImm{}, &StringImm{}, &Binary{}, &Not{}, &Select{}, &Cast{}, &BufferLoad{}, &Ramp{}, &Broadcast{}, &Shuffle{},
		&Let{}, &Call{}, &BufferStore{}, &For{}, &While{}, &If{}, &LetStmt{}, &Assert{}, &Alloc{}, &AttrStmt{}, &Seq{}, &Evaluate{}} {
		require.Greater(t, seen[fmt.Sprintf("%T", n)], 20, "%T is hardly made", n)
	}
}

func roundTrip(t *testing.T, name string, m *IRModule) {
	t.Helper()
	text := m.String()
	require.Equal(t, text, m.String(), name)
	parsed, err := Parse(text)
	require.NoError(t, err, "%s\n%s", name, text)
	require.Equal(t, "", textSame(m, parsed), "%s\n%s", name, text)
	require.Equal(t, text, parsed.String(), name)

	data, err := json.Marshal(m)
	require.NoError(t, err, "%s\n%s", name, text)
	var read IRModule
	require.NoError(t, json.Unmarshal(data, &read), "%s\n%s", name, data)
	require.Equal(t, "", textSame(m, &read), "%s\n%s", name, data)
	again, err := json.Marshal(&read)
	require.NoError(t, err, name)
	require.Equal(t, string(data), string(again), name)
	require.Equal(t, text, read.String(), name)
}

// textSame says where two modules differ, "" if they don't. Variables and buffers that nothing binds stand for those of the same place.
func textSame(a, b any) string {
	if EqualFree(a, b) {
		return ""
	}
	return "at " + Difference(a, b)
}

package tir

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: nothing panics, and what can be read is written and read again the same, as text and as JSON.
func FuzzParse(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(textGenModule(seed).String())
	}
	for _, s := range []string{"eval 0x10 + -m", "A[n, 0] = 1", "for i: i8 in range(1, count=2), attrs {\"a\": nan(0x7ff8000000000000)} {}", "let x = let y = 1 in y; eval i64(x)",
		"attr \"k\" iter x: int32 in range(3), kind reduce = none", "alloc B: float32[], data q: handle {} buffer C: i8[n], data a", "extern $\"\\x00\"[int64](\"\\u00e9\")"} {
		f.Add(inFunction(s))
	}
	f.Add("attrs {\"t\": target \"c\", \"u\": target {\"kind\": \"llvm\"}}")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			var wrong *ParseError
			require.ErrorAs(t, err, &wrong)
			require.Nil(t, m)
			return
		}
		roundTrip(t, text, m)
	})
}

// FuzzReadJSON: nothing panics, and what can be read is written and read again the same.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(jsonExample))
	for seed := range uint64(60) {
		data, err := json.Marshal(textGenModule(seed))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m IRModule
		if json.Unmarshal(data, &m) != nil {
			require.Empty(t, m.Funcs)
			return
		}
		written, err := json.Marshal(&m)
		require.NoError(t, err)
		var again IRModule
		require.NoError(t, json.Unmarshal(written, &again), "%s", written)
		require.Equal(t, "", textSame(&m, &again))
		require.NotPanics(t, func() { _, _ = Parse(m.String()) })
	})
}

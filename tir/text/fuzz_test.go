package text

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
)

// FuzzParse: nothing panics, and what can be read is written and read again the same, as text and as JSON.
func FuzzParse(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(tirnodes.Module(seed).String())
	}
	for _, s := range []string{"eval 0x10 + -m", "A[n, 0] = 1",
		"for i: i8 in range(1, count=2), attrs {\"a\": nan(0x7ff8000000000000)} {}", "let x = let y = 1 in y; eval i64(x)",
		"attr \"k\" iter x: int32 in range(3), kind reduce = none",
		"alloc B: float32[], data q: handle {} buffer C: i8[n], data a", "extern $\"\\x00\"[int64](\"\\u00e9\")"} {
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

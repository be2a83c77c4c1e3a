package json

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirnodes"
	"tvmgo/tir/compare"
	"tvmgo/tir/text"
)

// FuzzReadJSON: nothing panics, and what can be read is written and read again the same.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(jsonExample))
	for seed := range uint64(60) {
		data := must.Get(Marshal(tirnodes.Module(seed)))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Unmarshal(data)
		if err != nil {
			require.Nil(t, m)
			return
		}
		written := must.Get(Marshal(m))(t)
		again, err := Unmarshal(written)
		require.NoError(t, err, "%s", written)
		require.True(t, compare.EqualFree(m, again), compare.Difference(m, again))
		require.NotPanics(t, func() { _, _ = text.Parse(m.String()) })
	})
}

package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
	"tvmgo/tir"
)

// butIndices is an error of a program unless it is about an index, which random programs have anywhere.
func butIndices(err error) error {
	if err != nil && strings.Contains(err.Error(), "is outside of dimension") {
		return nil
	}
	return err
}

// A copy is equal. One change makes it another, the difference says where, and the hash shows it.
func TestEqual_RandomPrograms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	changes := map[string]int{}
	for range 400 {
		data := tirnodes.RandomBytes(r)
		f := tirnodes.Program(data)
		require.NoError(t, butIndices(tir.CheckFunc(f)), "%x", data)
		plain := &copier{change: -1}
		g := plain.function(f)
		require.NoError(t, butIndices(tir.CheckFunc(g)), "%x", data)
		require.Equal(t, "", Difference(f, g), "%x", data)
		require.True(t, EqualFree(g, f), "%x", data)
		require.Equal(t, Hash(f), Hash(g), "%x", data)
		for range 10 {
			changed := &copier{change: r.IntN(plain.sites)}
			h := changed.function(f)
			require.False(t, Equal(f, h), "%s in %x", changed.what, data)
			require.False(t, Equal(h, f), "%s in %x", changed.what, data)
			require.False(t, EqualFree(f, h), "%s in %x", changed.what, data)
			require.Contains(t, Difference(f, h), changed.what, "%x", data)
			require.NotEqual(t, Hash(f), Hash(h), "%s in %x", changed.what, data)
			changes[changed.what]++
		}
	}
	require.Greater(t, len(changes), 20, "%v", changes)
}

func FuzzEqual(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{7, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252}, uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, change uint16) {
		p := tirnodes.Program(data)
		require.NoError(t, butIndices(tir.CheckFunc(p)))
		plain := &copier{change: -1}
		q := plain.function(p)
		require.Equal(t, "", Difference(p, q))
		require.Equal(t, Hash(p), Hash(q))
		changed := &copier{change: int(change) % plain.sites}
		q = changed.function(p)
		require.Contains(t, Difference(p, q), changed.what)
		_ = tir.CheckFunc(q) // it may be wrong now; no panic
	})
}

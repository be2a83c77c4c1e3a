package gpuprograms_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// Random schedules give the correct result with the inserted barriers, and no two threads race.
func TestRandomSchedules(t *testing.T) {
	r := testseed.Rand(t)
	barriers, refused := 0, 0
	for iteration := range 300 {
		m, rows, inner, cols := gpuprograms.RandomProduct(t, r)
		synced, err := transform.ThreadSync(m, nil)
		if err != nil {
			require.ErrorContains(t, err, "vthread", "iteration %d\n%s", iteration, m)
			refused++
			continue
		}
		require.NoError(t, tir.Check(synced), "iteration %d\n%s", iteration, synced)
		a, b := gpuprograms.Array(t, r, tir.Int32, rows, inner), gpuprograms.Array(t, r, tir.Int32, inner, cols)
		out := must.Get(tirrun.New(tir.Int32, rows, cols))(t)
		p := must.Get(tirrun.Compile(synced, tirrun.Options{Seed: uint64(iteration)}))(t)
		_, err = p.Call("product", a, b, out)
		require.NoError(t, err, "iteration %d\n%s", iteration, synced)
		got := must.Get(tirrun.Values[int64](out))(t)
		require.Equal(t, gpuprograms.Product(t, a, b), got, "iteration %d\n%s", iteration, synced)
		tir.Walk(synced, func(node any) bool {
			if c, ok := node.(*tir.Call); ok && c.Name == "storage_sync" {
				barriers++
			}
			return true
		})
	}
	t.Logf("%d barriers, %d refused", barriers, refused)
	require.Greater(t, barriers, 50)
	require.Less(t, refused, 100)
}

package target_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/target"
)

// TestHammer has many goroutines use everything that is global at once; go test -race watches. Each name is given by exactly one of those
// that try to, and whoever sees a name sees all of it.
func TestHammer(t *testing.T) {
	quiet(t)
	const workers, rounds = 12, 30
	var kindsMade, tagsMade, versionsMade, columnsSet atomic.Int64
	start := make(chan struct{})
	var wg sync.WaitGroup
	fail := make(chan error, workers*rounds)
	check := func(ok bool, format string, args ...any) {
		if !ok {
			fail <- fmt.Errorf(format, args...)
		}
	}
	for w := range workers {
		wg.Go(func() {
			<-start
			for i := range rounds {
				kind, tag, column := fmt.Sprintf("test-hammer-%d", i), fmt.Sprintf("test-hammer/board-%d", i), fmt.Sprintf("column-%d", i)
				if _, err := target.RegisterKind(kind, dlpack.CPU, target.DefaultKeys("hammer"), target.Option("n", target.Int, target.Default(i))); err == nil {
					kindsMade.Add(1)
				}
				x, err := target.New(kind)
				check(err == nil, "kind that is registered: %v", err)
				n, err := target.Get[int](x, "n")
				check(err == nil && n == i, "half a kind: %d, %v", n, err)
				if target.SetAttr(kind, column, w) == nil {
					columnsSet.Add(1)
				}
				k, err := target.LookupKind(kind)
				check(err == nil, "%v", err)
				_, ok := target.Attr[int](k, column)
				check(ok, "column that is set")
				if target.RegisterTag(tag, map[string]any{"kind": kind, "n": i + 1}, tag+"-alias") == nil {
					tagsMade.Add(1)
				}
				if target.RegisterTag(fmt.Sprintf("%s:%d.%d", tag, w, i), map[string]any{"kind": kind, "n": i + 2}) == nil {
					versionsMade.Add(1)
				}
				y, err := target.New(tag + "-alias")
				check(err == nil, "alias of a tag that is registered: %v", err)
				m, err := target.Get[int](y, "n")
				check(err == nil && m == i+1, "half a tag: %d, %v", m, err)
				z, err := target.New(map[string]any{"kind": "cuda", "arch": "sm_90", "host": x})
				check(err == nil && z.Host() == x, "%v", err)
				again, err := target.New(z.String())
				check(err == nil && again.Equal(z) && again.Hash() == z.Hash(), "%v", err)
				if i%10 == w%10 {
					check(len(target.TagsWithKey("hammer")) > 0, "tags of a family")
					_, err = target.Schema(kind)
					check(err == nil, "%v", err)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	close(fail)
	for err := range fail {
		require.NoError(t, err)
	}
	require.EqualValues(t, rounds, kindsMade.Load())
	require.EqualValues(t, rounds, tagsMade.Load())
	require.EqualValues(t, rounds, columnsSet.Load())
	require.EqualValues(t, workers*rounds, versionsMade.Load())
}

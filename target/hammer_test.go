package target_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// TestHammer uses all global state from many goroutines at once, for go test -race. Exactly one of the goroutines that
// register a name succeeds, and a name that is visible is completely registered.
func TestHammer(t *testing.T) {
	if os.Getenv("TVMGO_TEST_HAMMER") == "" { // kinds cannot be removed, so the test runs in a separate process
		c := exec.Command(os.Args[0], "-test.run=^TestHammer$", "-test.v")
		c.Env = append(os.Environ(), "TVMGO_TEST_HAMMER=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestHammer")
		return
	}
	quiet(t)
	const workers, rounds = 12, 30
	var kindsMade, tagsMade, versionsMade, columnsSet atomic.Int64
	must.Get(target.RegisterKind("test-hammer", dlpack.CPU))(t)
	start := make(chan struct{})
	var wg sync.WaitGroup
	fail := make(chan error, workers*rounds*20)
	check := func(ok bool, format string, args ...any) {
		if !ok {
			fail <- fmt.Errorf(format, args...)
		}
	}
	for w := range workers {
		wg.Go(func() {
			<-start
			for i := range rounds {
				kind, tag, column := fmt.Sprintf("test-hammer-%d", i), fmt.Sprintf("test-hammer/board-%d",
					i), fmt.Sprintf("column-%d", i)
				if _, err := target.RegisterKind(kind, dlpack.CPU, target.DefaultKeys("hammer"),
					target.Option("n", target.Int, target.Default(i))); err == nil {
					kindsMade.Add(1)
				}
				x, err := target.New(kind)
				check(err == nil, "kind that is registered: %v", err)
				n, err := target.Get[int](x, "n")
				check(err == nil && n == i, "half a kind: %d, %v", n, err)
				if target.SetAttr(kind, column, w) == nil {
					columnsSet.Add(1)
				}
				own := fmt.Sprintf("test-hammer-of-%d-%d", w, i)
				if _, err := target.RegisterKind(own, dlpack.CPU); err != nil {
					fail <- err
				}
				for j := range 10 { // all goroutines add columns to one kind
					if err := target.SetAttr("test-hammer", fmt.Sprintf("of-%d-%d-%d", w, i, j), w); err != nil {
						fail <- err
					}
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
				if i%15 == w {
					check(len(target.TagsWithKey("hammer")) > 0, "tags with a key")
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
	shared := must.Get(target.LookupKind("test-hammer"))(t)
	for i := range workers * rounds * 10 {
		name := fmt.Sprintf("of-%d-%d-%d", i/10/rounds, i/10%rounds, i%10)
		_, ok := target.Attr[int](shared, name)
		require.True(t, ok, "column %s is lost", name)
	}
	for i := range workers * rounds {
		_, err := target.LookupKind(fmt.Sprintf("test-hammer-of-%d-%d", i/rounds, i%rounds))
		require.NoError(t, err, "a kind is lost")
	}
	require.EqualValues(t, rounds, kindsMade.Load())
	require.EqualValues(t, rounds, tagsMade.Load())
	require.EqualValues(t, rounds, columnsSet.Load())
	require.EqualValues(t, workers*rounds, versionsMade.Load())
}

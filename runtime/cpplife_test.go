package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// A library that registers itself does so once in a process, however often it is loaded and given up:
// what it registered stays, and its constructors would end the process the second time.
func TestCppKernel_RegistersOnce(t *testing.T) {
	for linking, flags := range cppLinkings(t) {
		t.Run(linking, func(t *testing.T) {
			path := cpp(t, "loaded", flags...)
			if !inOwnProcess(t) {
				return
			}
			first, err := runtime.Load(ctx, path)
			require.NoError(t, err)
			require.NoError(t, first.Close())
			noLeaks(t) // beyond what was registered
			for range 3 {
				for _, opts := range [][]runtime.LoadOption{nil, {runtime.PrivateCopy()}} {
					m, err := runtime.Load(ctx, path, opts...)
					require.NoError(t, err)
					f, err := m.Function("six_times")
					require.NoError(t, err)
					require.Equal(t, int64(42), call(t, f, 7))
					require.NoError(t, f.Close())
					require.NoError(t, m.Close())
				}
			}
			require.Equal(t, int64(21), call(t, global(t, "tvmgo.test.triple"), 7), "though no module of it is open")
		})
	}
}

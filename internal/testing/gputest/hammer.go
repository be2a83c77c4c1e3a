package gputest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Hammer loads each file, closes the module, and calls one of its functions from many goroutines on all devices while
// the garbage collector runs continuously. It skips the test as machine.Need does.
func Hammer(t *testing.T, files []string, devices []dlpack.Device) {
	t.Helper()
	machine.Need(t, files...)
	defer Collect()()
	for _, file := range files {
		m := must.Get(runtime.Load(t.Context(), file))(t)
		f := Function(t, m, "vadd")
		require.NoError(t, m.Close())
		var calls []Call
		for i := range 8 {
			calls = append(calls, Example(t, "vadd", devices[i%len(devices)]))
		}
		var wg sync.WaitGroup
		errs := make([]error, len(calls))
		for i, c := range calls {
			wg.Go(func() {
				for range 20 {
					if _, err := f.Call(c.Args...); err != nil {
						errs[i] = err
					}
				}
			})
		}
		wg.Wait()
		for i, c := range calls {
			require.NoError(t, errs[i])
			c.Check(t)
			c.Close()
		}
		require.NoError(t, f.Close())
	}
}

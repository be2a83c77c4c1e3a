//go:build cuda

package cuda_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/fakecuda/control"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

// steered returns the fake driver; nil with a real driver.
func steered(t testing.TB) *control.Driver {
	if fakeLibrary == "" {
		return nil
	}
	return control.Open(t, fakeLibrary)
}

// leavesNothing checks that a test releases all its objects in the runtime, on the devices and in the driver, and does
// not misuse the driver.
func leavesNothing(t *testing.T) {
	t.Helper()
	leaks.Collect()
	leaks.Collect() // collects objects that finalizers released
	before, reports := alive(t), 0
	if fake := steered(t); fake != nil {
		reports = len(fake.Reports())
	}
	t.Cleanup(func() {
		var now counts
		leaks.Until(func() bool {
			now = alive(t)
			return before.equal(now)
		})
		require.Equal(t, before, now)
		if fake := steered(t); fake != nil {
			require.Empty(t, fake.Reports()[reports:])
		}
	})
}

// counts has the numbers of live objects. It omits objects that are kept for reuse: workspaces, pools and events.
type counts struct {
	runtime runtime.LiveCounts
	memory  [2]runtime.MemoryStats
	modules []string // in the fake driver
}

func (c counts) equal(d counts) bool {
	return c.runtime == d.runtime && c.memory == d.memory && slices.Equal(c.modules, d.modules)
}

func alive(t *testing.T) counts {
	var c counts
	for i, dev := range present() {
		must.Get(cuda.Trim(i))(t)
		m := must.Get(runtime.DeviceMemory(dev))(t)
		m.DataPeak = 0
		c.memory[i] = m
	}
	c.runtime = runtime.Live()
	c.runtime.WorkspaceCached = 0
	if fake := steered(t); fake != nil {
		c.modules = fake.Leaks(false)
	}
	return c
}

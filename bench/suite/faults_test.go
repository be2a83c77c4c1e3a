package suite

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/operators"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// faulty are the calls of the CUDA driver that fail in this test: all that these cases make, except for those that
// release something.
var faulty = []string{"cuMemAlloc*", "cuMemHostAlloc", "cuMemcpy*", "cuStreamCreate*", "cuStreamSynchronize",
	"cuStreamWaitEvent", "cuStreamBeginCapture*", "cuStreamEndCapture", "cuGraphInstantiate*", "cuGraphLaunch",
	"cuLaunchKernel*", "cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuEventQuery", "cuModuleLoad*",
	"cuModuleGet*", "cuFunc*", "cuDevice*", "cuCtxGet*", "cuCtxSet*", "cuPointer*"}

// small are all copies, of 4 KiB.
func small() (list []*bench.Case) {
	add := func(name string, open opener) { list = append(list, copyCase(name, 4<<10, name, open)) }
	for _, pinned := range []bool{true, false} {
		for _, toDevice := range []bool{true, false} {
			add("host", openHostCopy(4<<10, pinned, toDevice))
		}
		add("bidirectional", openBidirectional(4<<10, pinned))
		add("peer", openPeerCopy(4<<10, pinned))
	}
	add("local", openLocalCopy(4<<10))
	return list
}

// try opens a case, checks and runs it twice, and closes it.
func try(ctx context.Context, k *bench.Case, on *bench.Device) error {
	w, err := k.Variants[0].Open(ctx, on)
	if err != nil {
		if w != nil {
			return errors.New("Open returned an operation beside an error")
		}
		return err
	}
	how, err := w.Check(ctx)
	if err == nil && how == "" {
		err = errors.New("Check does not say what it has compared")
	}
	for range 2 {
		if err == nil {
			_, err = w.Run(ctx, 2)
		}
	}
	if e := w.Close(); e != nil {
		return errors.Join(err, e)
	}
	return err
}

// Whichever call of the driver fails, the case fails with an error, everything is freed, and the next try succeeds.
func TestCases_FailingDriver(t *testing.T) {
	if os.Getenv("TVMGO_VALIDATE") == "1" {
		t.Skip("TVMGO_VALIDATE=1 keeps page-locked memory if the wait for its copy has failed, as it does here")
	}
	driver := cudarun.Use(t)
	events := 0
	on := &bench.Device{Name: "cuda:0", Handle: dlpack.Device{Type: dlpack.CUDA}}
	list := slices.Concat(small(), Launch(), kernelsOf([]*operators.Operator{operators.Sum(1000),
		operators.Matmul(32, tir.Float16)}, Options{}))
	for _, k := range list {
		if err := try(t.Context(), k, on); errors.Is(err, bench.ErrNotMeasured) {
			continue
		} else {
			require.NoError(t, err, k.ID())
		}
		live := runtime.Live()
		left := withoutEvents(driver.Leaks(false))
		failures := 0
		for n := int64(1); ; n++ {
			driver.FailAt(n, 1, faulty...)
			err := try(t.Context(), k, on)
			failed := driver.Failed()
			driver.FailAt(0, 0)
			require.Equal(t, live, runtime.Live(), "%s, failure %d: %v", k.ID(), n, err)
			now := driver.Leaks(false)
			events = max(events, len(now))
			require.Equal(t, left, withoutEvents(now), "%s, failure %d: %v", k.ID(), n, err)
			if !failed {
				require.NoError(t, err, k.ID())
				break
			}
			if err != nil {
				failures++
			}
			if n > 60 { // a chain has a thousand launches
				n += n / 2
			}
		}
		require.Positive(t, failures, k.ID())
	}
	require.Less(t, events, 32, "the runtime keeps some events for later use, but not one for each failure")
}

// withoutEvents removes the events from a list of what is not released: the runtime keeps them for later use.
func withoutEvents(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(s, "event ") })
}

// A device that disappears during a run ends its rows with an error. Other devices are not affected, and everything is
// freed that can be.
func TestCases_LostDevice(t *testing.T) {
	driver := cudarun.Use(t)
	lost := &bench.Device{Name: "cuda:1", Handle: dlpack.Device{Type: dlpack.CUDA, ID: 1}}
	other := testDevice(t, dlpack.OpenCL)
	const gone = 46 // CUDA_ERROR_DEVICE_UNAVAILABLE
	cases := []*bench.Case{named(t, "launch/kernel_launch_latency"), named(t, "launch/workspace_4KiB"),
		named(t, "bandwidth/host_to_device_memcpy_ce_4KiB")}
	config := quick
	config.Progress = func(p bench.Progress) {
		if p.Stage == bench.Measuring && p.Index == 0 {
			driver.LoseDevice(1, gone)
		}
	}
	t.Cleanup(func() { driver.LoseDevice(1, 0) })
	report, err := bench.Run(t.Context(), config, cases, []*bench.Device{lost, other})
	require.NoError(t, err)
	driver.LoseDevice(1, 0)
	for _, row := range report.Rows {
		if row.Device == "cuda:1" {
			require.Equal(t, bench.Failed, row.Status, row.ID())
			require.Contains(t, row.Reason, "CUDA_ERROR_DEVICE_UNAVAILABLE", row.ID())
		} else {
			require.Equal(t, bench.Measured, row.Status, "%s: %s", row.ID(), row.Reason)
		}
	}
}

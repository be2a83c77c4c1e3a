package vulkan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

var host = dlpack.Device{Type: dlpack.CPU}

// traced runs f and returns the calls that the shim traced: "submit SEMAPHORE NUMBER" and "wait SEMAPHORE NUMBER".
func traced(t *testing.T, f func()) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	t.Setenv("SHIM_TRACE", file)
	f()
	t.Setenv("SHIM_TRACE", "")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// chunks returns data whose copy has n full chunks and a shorter one.
func chunks(n int) []byte {
	data := make([]byte, n<<22+12345)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return data
}

// A large copy to the host is split into chunks. While the host waits for one chunk, the device copies the next.
func TestCopy_ChunksOverlap(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_LAZY=1")
		return
	}
	data := chunks(6)
	x := bytesOn(t, second, data)
	got := make([]byte, len(data))
	y := bytesOn(t, first, got)
	for what, copies := range map[string]func() error{
		"to the host":     func() error { return x.CopyToBytes(got) },
		"between devices": func() error { return y.CopyFromTensor(x, nil) },
	} {
		clear(got)
		var submitted, waited int
		trace := traced(t, func() { require.NoError(t, copies()) })
		source := strings.Fields(trace[0])[1]
		for _, line := range trace {
			switch words := strings.Fields(line); {
			case words[1] != source: // a call for the destination
				continue
			case words[0] == "submit":
				submitted++
				continue
			}
			waited++
			require.Equal(t, min(waited+1, 7), submitted, "%s: submissions before the host's wait number %d: %v", what,
				waited, trace)
		}
		require.Equal(t, 7, waited, what)
		if what == "between devices" {
			require.NoError(t, y.CopyToBytes(got))
		}
		require.Equal(t, data, got, what)
	}
}

// The device begins a large copy from the host before the host has copied all data to staging memory.
func TestCopy_FromTheHostBeginsEarly(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t))
		return
	}
	data := chunks(6)
	x, from := bytesOn(t, second, make([]byte, len(data))), bytesOn(t, host, data)
	trace := traced(t, func() { require.NoError(t, x.CopyFromTensor(from, nil)) })
	require.Len(t, trace, 6, "a submission for each full chunk, and no wait")
	require.NotContains(t, strings.Join(trace, "\n"), "wait")
	got := make([]byte, len(data))
	require.NoError(t, x.CopyToBytes(got))
	require.Equal(t, data, got)
}

// The resources of work that the program does not wait for are limited, also on a device that begins work only when the
// host waits. The shim ends a process that exceeds a limit.
func TestFlight_IsBounded(t *testing.T) {
	if !inChild() {
		need(t)
		env := []string{"TVMGO_VULKAN_LIBRARY=" + shim(t), "TVMGO_VULKAN_VALIDATION=0", "SHIM_LAZY=1",
			"SHIM_HEAP=" + fmt.Sprint(256<<20), "SHIM_MOST_POOLS=100", "SHIM_MOST_BATCHES=200",
			"SHIM_MOST_MEMORY=" + fmt.Sprint(112<<20)}
		passes(t, env...)
		passes(t, append(env, "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1")...)
		// The shim does check the limits: smaller ones fail.
		for _, bound := range []string{"SHIM_MOST_POOLS=10", "SHIM_MOST_BATCHES=30",
			"SHIM_MOST_MEMORY=" + fmt.Sprint(60<<20)} {
			out, err := child(t, append(env, "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1", bound)...)
			require.Error(t, err)
			require.Contains(t, out, " at a time, of at most "+strings.Split(bound, "=")[1])
		}
		return
	}
	noLeaks(t)
	step, many := shader(t, "two"), shader(t, "scalars")
	args, sum := twentyValues(0)
	for _, dev := range []dlpack.Device{first, second} {
		x, y := array(t, dev, make([]uint32, 64)), array(t, dev, make([]float32, 4))
		s := newStream(t, dev)
		for range 25000 {
			require.NoError(t, step.Launch(s, one, runtime.Dim3{64}, x, 1, 1))
			require.NoError(t, many.Launch(s, one, runtime.Dim3{4}, append([]any{y}, args...)...))
		}
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, uint32(25000), values[uint32](t, x)[0])
		require.Equal(t, sum, values[float32](t, y)[0])
	}

	// Copies from the host.
	data := make([]byte, 1<<20)
	x := bytesOn(t, second, data)
	for i := range 1000 {
		data[0] = byte(i)
		from := bytesOn(t, host, data)
		require.NoError(t, x.CopyFromTensor(from, nil))
		require.NoError(t, from.Close())
	}
	got := make([]byte, len(data))
	require.NoError(t, x.CopyToBytes(got))
	require.Equal(t, data, got)

	// Arrays that are freed while enqueued commands use them.
	for range 1000 {
		y, err := runtime.NewTensor(dlpack.UInt8, []int64{1 << 20}, second)
		require.NoError(t, err)
		require.NoError(t, y.CopyFromTensor(x, nil))
		require.NoError(t, y.Close())
	}

	// Streams that wait for each other.
	a, b := newStream(t, second), newStream(t, second)
	z := array(t, second, make([]uint32, 64))
	for range 5000 {
		require.NoError(t, step.Launch(a, one, runtime.Dim3{64}, z, 1, 1))
		require.NoError(t, b.WaitFor(a))
		require.NoError(t, b.WaitFor(a))
		require.NoError(t, step.Launch(b, one, runtime.Dim3{64}, z, 1, 1))
		require.NoError(t, a.WaitFor(b))
	}
	require.NoError(t, b.Sync(t.Context()))
	require.Equal(t, uint32(10000), values[uint32](t, z)[0])
}

// If a submission fails, its commands are lost. The call that submitted returns an error. If earlier calls had enqueued
// some of the commands, the next call that waits also returns an error. Later work is not affected.
func TestSubmit_Fails(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "TVMGO_VULKAN_VALIDATION=0")
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "TVMGO_VULKAN_VALIDATION=0", "TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1")
		return
	}
	noLeaks(t)
	failures := 0
	fail := func() { // makes the next submission fail; the text is a new one each time, so that the shim counts from 1
		failures++
		t.Setenv("SHIM_FAIL_SUBMIT", fmt.Sprintf("1,-2 %d", failures))
	}
	const code = "VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)"
	step, many := shader(t, "two"), shader(t, "scalars")
	args, _ := twentyValues(0)
	for _, dev := range []dlpack.Device{first, second} {
		s := newStream(t, dev)
		x, y := array(t, dev, make([]uint32, 64)), array(t, dev, make([]float32, 4))
		launch := func() error {
			if err := many.Launch(s, one, runtime.Dim3{4}, append([]any{y}, args...)...); err != nil {
				return err
			}
			return step.Launch(s, one, runtime.Dim3{64}, x, 1, 1)
		}
		waits := map[string]func() error{
			"sync":  func() error { return s.Sync(t.Context()) },
			"order": func() error { o := newStream(t, second); defer o.Close(); return o.WaitFor(s) },
			"read":  func() error { _, err := runtime.ToSlice[uint32](x); return err },
		}
		if dev == second {
			delete(waits, "read") // reads use the default stream
		} else {
			delete(waits, "order")
		}
		for what, wait := range waits {
			require.NoError(t, wait(), what)
			queues := func() { // launches until one of them submits
				fail()
				var err error
				for n := 0; err == nil && n < 1000; n++ {
					err = launch()
				}
				require.ErrorContains(t, err, "submit work on "+dev.String()+": ", what)
				require.ErrorContains(t, err, " commands that were queued are lost: "+code, what)
				require.NoError(t, launch(), what)
			}
			queues()
			err := wait()
			require.ErrorIs(t, err, runtime.ErrOutOfMemory, what)
			require.ErrorContains(t, err, dev.String()+": earlier work (", what)
			require.ErrorContains(t, err, "commands) could not be submitted, and is lost: queue it again: "+code, what)
			require.NoError(t, wait(), what)
			// If the call that waits is the one that submits, no later call reports the loss again.
			queues()
			require.NoError(t, launch(), what)
			fail()
			require.ErrorContains(t, wait(), "4 commands that were queued are lost: "+code, what)
			require.NoError(t, wait(), what)
		}
		before := values[uint32](t, x)[0]
		require.NoError(t, launch())
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, before+1, values[uint32](t, x)[0])
		// A timer in a lost batch.
		timer, err := runtime.NewTimer(dev)
		require.NoError(t, err)
		require.NoError(t, timer.Start(s))
		require.NoError(t, timer.Stop(s))
		fail()
		require.ErrorContains(t, s.Sync(t.Context()), code)
		_, err = timer.Elapsed()
		require.ErrorContains(t, err,
			"the awaited work could not be submitted, and is lost: queue it again: "+code)
		require.NoError(t, launch())
		require.NoError(t, s.Sync(t.Context())) // batches with later numbers are done
		_, err = timer.Elapsed()
		require.ErrorContains(t, err, "the awaited work could not be submitted")
		require.NoError(t, timer.Close())
	}
}

// Staging memory that a lost batch shares with an earlier batch is not reused while the earlier batch runs.
func TestSubmit_FailsBehindAnother(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "TVMGO_VULKAN_VALIDATION=0", "SHIM_LAZY=1")
		return
	}
	noLeaks(t)
	data := chunks(1)[:3<<20] // less than the staging memory of 4 MiB
	zeroes := make([]byte, len(data))
	x, y := bytesOn(t, second, zeroes), bytesOn(t, second, zeroes)
	from, other := bytesOn(t, host, data), bytesOn(t, host, zeroes)
	s, o := newStream(t, second), newStream(t, second)
	require.NoError(t, x.CopyFromTensor(from, s))
	require.NoError(t, o.WaitFor(s))               // submits the copy, which is not done yet
	require.NoError(t, y.CopyFromTensor(other, s)) // uses new staging memory; this batch keeps the first one
	t.Setenv("SHIM_FAIL_SUBMIT", "1,-2")
	require.ErrorContains(t, o.WaitFor(s), "are lost")
	t.Setenv("SHIM_FAIL_SUBMIT", "")
	for range 6 {
		require.NoError(t, y.CopyFromTensor(other, s)) // takes free staging memory
	}
	require.NoError(t, s.Sync(t.Context()))
	got := make([]byte, len(data))
	require.NoError(t, x.CopyToBytes(got))
	require.Equal(t, data, got)
}

// If a lost batch was to wait for another stream, the next batch waits for it instead.
func TestSubmit_FailsAndOrderStays(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "SHIM_REORDER=1", "TVMGO_VULKAN_VALIDATION=0")
		return
	}
	const n = 1000
	x, y, z := tensor(t, second, count(1, n)), tensor(t, second, count(2, n)), tensor(t, second, count(3, n))
	a, b := newStream(t, second), newStream(t, second)
	want := count(10, n)
	require.NoError(t, runtime.CopyFrom(x, want))
	slice(t, x)
	slice(t, y)
	slice(t, z)
	require.NoError(t, y.CopyFromTensor(x, a))
	require.NoError(t, b.WaitFor(a))
	require.NoError(t, z.CopyFromTensor(y, b))
	t.Setenv("SHIM_FAIL_SUBMIT", "1,-2")
	require.ErrorContains(t, b.Sync(t.Context()), "1 commands that were queued are lost")
	t.Setenv("SHIM_FAIL_SUBMIT", "")
	require.NoError(t, z.CopyFromTensor(y, b))
	require.NoError(t, b.Sync(t.Context()))
	require.NoError(t, a.Sync(t.Context()))
	require.Equal(t, want, slice(t, z))
}

// A submission signals the next number of its stream, and the host waits for that number. A stream that waits twice for
// another stream waits for the later number. It can wait for two streams. A batch that writes memory which the host
// reads ends with a barrier for the host.
func TestFlight_NumbersWaitsAndHostBarrier(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_LIBRARY="+shim(t), "TVMGO_VULKAN_VALIDATION=0", "SHIM_LAZY=1", "SHIM_TRACE_ALL=1")
		return
	}
	const n = 4096
	data := make([]byte, n)
	x, y, z := bytesOn(t, second, data), bytesOn(t, second, data), bytesOn(t, second, data)
	a, b, c := newStream(t, second), newStream(t, second), newStream(t, second)
	var numbers []string // submissions and waits: streams have letters in the order of their first submission
	trace := traced(t, func() {
		require.NoError(t, y.CopyFromTensor(x, a))
		require.NoError(t, c.WaitFor(a))
		require.NoError(t, y.CopyFromTensor(x, a))
		require.NoError(t, c.WaitFor(a))
		require.NoError(t, z.CopyFromTensor(x, b))
		require.NoError(t, c.WaitFor(b))
		require.NoError(t, z.CopyFromTensor(y, c))
		require.NoError(t, c.Sync(t.Context()))
	})
	var names []string
	host := false
	for _, line := range trace {
		words := strings.Fields(line)
		if words[0] == "host" {
			host = true
			require.Equal(t, fmt.Sprint(0x2000|0x4000), words[2], "the host reads and writes")
			continue
		}
		i := slices.Index(names, words[1])
		if i < 0 {
			i, names = len(names), append(names, words[1])
		}
		if words[0] == "submit" {
			require.True(t, host, "%v: a batch that writes host-visible memory ends with a barrier for the host", trace)
			host = false
		}
		numbers = append(numbers, fmt.Sprintf("%s %c %s", words[0], 'a'+i, words[2]))
	}
	require.Equal(t, []string{"submit a 1", "submit a 2", "submit b 1", "after a 2", "after b 1", "submit c 1",
		"wait c 1"}, numbers, "%v", trace)
}

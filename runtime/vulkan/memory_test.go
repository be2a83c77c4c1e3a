package vulkan_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
)

// bytesOn creates an array of bytes on a device.
func bytesOn(t *testing.T, dev dlpack.Device, data []byte) *runtime.Tensor {
	t.Helper()
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{int64(len(data))}, dev)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	require.NoError(t, x.CopyFromBytes(data))
	return x
}

// Copies can begin and end at any byte, and source and destination in the same array may overlap.
func TestCopy_AnyBytes(t *testing.T) {
	need(t)
	noLeaks(t)
	const n = 2000
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, dev := range []dlpack.Device{first, second} {
		for _, c := range []struct{ from, to, n int }{
			{0, 1, 999}, {1, 0, 999}, {3, 1001, 997}, {1001, 3, 1}, {0, 500, 1500}, {500, 0, 1500}, {7, 7, 100}, {13, 14, 1986},
			{5, 9, 0},
		} {
			x := bytesOn(t, dev, data)
			from, err := x.View(dlpack.UInt8, []int64{int64(c.n)}, nil, int64(c.from))
			require.NoError(t, err)
			to, err := x.View(dlpack.UInt8, []int64{int64(c.n)}, nil, int64(c.to))
			require.NoError(t, err)
			require.NoError(t, to.CopyFromTensor(from, nil))
			want := append([]byte(nil), data...)
			copy(want[c.to:c.to+c.n], data[c.from:c.from+c.n])
			got := make([]byte, n)
			require.NoError(t, x.CopyToBytes(got))
			require.Equal(t, want, got, "%v: %v", dev, c)
			require.NoError(t, from.Close())
			require.NoError(t, to.Close())
			require.NoError(t, x.Close())
		}
	}
}

// Memory that is freed while commands use it is not reused before the commands are done.
func TestFree_WhileInUse(t *testing.T) {
	need(t)
	noLeaks(t)
	const n, rounds = 50000, 60
	var kept []*runtime.Tensor
	for i := range rounds {
		x, err := runtime.NewTensor(dlpack.Float32, []int64{n}, second)
		require.NoError(t, err)
		y, err := runtime.NewTensor(dlpack.Float32, []int64{n}, second)
		require.NoError(t, err)
		require.NoError(t, runtime.CopyFrom(x, count(i, n)))
		require.NoError(t, y.CopyFromTensor(x, nil))
		require.NoError(t, x.Close())
		kept = append(kept, y)
	}
	for i, y := range kept {
		require.Equal(t, count(i, n), slice(t, y), "round %d", i)
		require.NoError(t, y.Close())
	}
}

// A copy from the host does not change the data that earlier enqueued commands read.
func TestWrite_WhileInUse(t *testing.T) {
	need(t)
	noLeaks(t)
	for _, dev := range []dlpack.Device{first, second} {
		x, y := tensor(t, dev, count(1, 100)), tensor(t, dev, count(0, 100))
		require.NoError(t, y.CopyFromTensor(x, nil))
		require.NoError(t, runtime.CopyFrom(x, count(2, 100)))
		require.Equal(t, count(1, 100), slice(t, y))
		require.Equal(t, count(2, 100), slice(t, x))
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
	}
}

// Many goroutines use the default stream and their own streams, with frequent garbage collections.
func TestManyGoroutinesAndCollections(t *testing.T) {
	need(t)
	noLeaks(t)
	defer gputest.Collect()()
	var workers sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		workers.Go(func() {
			for range 8 {
				if err := work(t, []dlpack.Device{first, second}[i%2]); err != nil {
					errs[i] = err
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func TestAllocate_TooMuch(t *testing.T) {
	need(t)
	noLeaks(t)
	_, err := runtime.NewTensor(dlpack.UInt8, []int64{1 << 50}, first)
	require.ErrorContains(t, err, "vulkan:0: no memory for 1125899906842624 bytes: a buffer has at most ")
}

// Every option of target kind vulkan has a value of the right type.
func TestTargetProperties(t *testing.T) {
	need(t)
	global, err := runtime.Global("device_api.vulkan.get_target_property")
	require.NoError(t, err)
	defer global.Close()
	ask := func(name string) any {
		v, err := runtime.TargetProperty(second, name)
		require.NoError(t, err)
		same, err := global.Call(second, name)
		require.NoError(t, err)
		require.Equal(t, v, same, name)
		return v
	}
	for _, name := range []string{"supports_float16", "supports_float32", "supports_float64", "supports_int8",
		"supports_int16", "supports_int32", "supports_int64", "supports_8bit_buffer", "supports_16bit_buffer",
		"supports_storage_buffer_storage_class", "supports_push_descriptor", "supports_dedicated_allocation",
		"supports_integer_dot_product", "supports_cooperative_matrix", "supports_float16_rte", "supports_bfloat16"} {
		require.IsType(t, true, ask(name), name)
	}
	for _, name := range []string{"supported_subgroup_operations", "max_num_threads", "max_threads_per_block",
		"thread_warp_size", "max_block_size_x", "max_block_size_y", "max_block_size_z", "max_push_constants_size",
		"max_uniform_buffer_range", "max_storage_buffer_range", "max_per_stage_descriptor_storage_buffer",
		"max_shared_memory_per_block", "driver_version", "vulkan_api_version", "max_spirv_version"} {
		require.Positive(t, ask(name).(int64), name)
	}
	for _, name := range []string{"device_type", "device_name", "driver_name", "memory_type"} {
		require.NotEmpty(t, ask(name), name)
	}
	require.Equal(t, true, ask("supports_float32"))
	require.Contains(t, []any{int64(1), ask("subgroup_size")}, ask("thread_warp_size"))
	require.Contains(t, []any{"discrete", "integrated", "virtual", "cpu", "other"}, ask("device_type"))
	require.Contains(t, ask("memory_type"), "(device-local")
	require.Nil(t, ask("no_such_property"))
	_, err = global.Call(dlpack.Device{Type: dlpack.CPU}, "device_name")
	require.ErrorContains(t, err, "argument 0 is a device of type 1, not vulkan")
	_, err = global.Call(first)
	require.Error(t, err)
	_, err = runtime.TargetProperty(dlpack.Device{Type: dlpack.Vulkan, ID: 60}, "device_name")
	require.ErrorContains(t, err, "there is no device vulkan:60: this machine has ")
}

// If device memory is exhausted, unused blocks are freed. Memory that was freed can be allocated again.
func TestMemory_CanBeAllocatedAgain(t *testing.T) {
	need(t)
	noLeaks(t)
	m, err := runtime.DeviceMemory(first)
	require.NoError(t, err)
	size := m.Total / 4
	for range 3 {
		var kept []*runtime.Tensor
		for {
			x, err := runtime.NewTensor(dlpack.UInt8, []int64{size}, first)
			if err != nil {
				require.ErrorContains(t, err, "no memory for")
				require.ErrorContains(t, err, "this process holds ")
				break
			}
			if kept = append(kept, x); len(kept) == 64 {
				break // a driver that overcommits memory
			}
		}
		require.NotEmpty(t, kept)
		for _, x := range kept {
			require.NoError(t, x.Close())
		}
	}
}

// largePages returns the bytes of this process for which large pages were requested.
func largePages(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	var total, size int64
	for line := range strings.Lines(string(text)) {
		if n, err := fmt.Sscanf(line, "Size: %d kB", &size); n == 1 && err == nil {
			continue
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && slices.Contains(strings.Fields(flags), "hg") {
			total += size << 10
		}
	}
	return total
}

// For the memory of a CPU device, large pages are requested.
func TestMemory_LargePages(t *testing.T) {
	need(t)
	noLeaks(t)
	if kind, err := runtime.TargetProperty(first, "device_type"); err != nil || kind != "cpu" {
		t.Skipf("the device is %v, not a CPU: %v", kind, err)
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no large pages")
	}
	const size = 32 << 20
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{size}, first)
	require.NoError(t, err)
	asked := largePages(t) // includes older blocks, which may contain x
	require.NoError(t, x.Close())
	require.GreaterOrEqual(t, asked, int64(size-4<<20))
}

// On a device with one queue, all streams are the default stream. The second device of the tests still creates streams,
// so that they are tested.
func TestStreams_OfOneQueue(t *testing.T) {
	need(t)
	noLeaks(t)
	for dev, own := range map[dlpack.Device]bool{first: false, second: true} {
		s, err := runtime.NewStream(dev)
		require.NoError(t, err)
		if _, err := os.Stat("/dev/nvidiactl"); err != nil { // GPUs have many queues
			require.Equal(t, own, s.Handle() != 0, "%v", dev)
		}
		x := tensor(t, dev, []float32{1, 2, 3})
		y := tensor(t, dev, make([]float32, 3))
		require.NoError(t, y.CopyFromTensor(x, s))
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, []float32{1, 2, 3}, slice(t, y))
		require.NoError(t, s.Close())
	}
}

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// mistaken is a device in host memory that makes a mistake.
type mistaken struct {
	mu      sync.Mutex
	mistake string
	spaces  map[unsafe.Pointer][]byte
	shared  []byte // the memory of every allocation, if that is the mistake
	copies  map[string]int
}

const mistakenType dlpack.DeviceType = 29

// mostMistaken is the number of such devices. After two allocations had one memory, the runtime's pools of the device
// are wrong: each case needs a device of its own.
const mostMistaken = 1 << 16

var usedMistaken = 0

var theMistaken = &mistaken{spaces: map[unsafe.Pointer][]byte{}}

var registerMistaken = sync.OnceValue(func() error {
	return runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: mistakenType, Name: "mistaken",
		New: func() (runtime.DeviceAPI, error) { return theMistaken, nil }})
})

func (d *mistaken) SetDevice(int) error { return nil }

func (d *mistaken) Attr(id int, kind runtime.AttrKind) (any, error) {
	if kind == runtime.AttrExist {
		if id < mostMistaken {
			return int64(1), nil
		}
		return int64(0), nil
	}
	return nil, nil
}

func (d *mistaken) AllocDataSpace(_ int, nbytes, _ uintptr, _ dlpack.DataType) (unsafe.Pointer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := int(max(nbytes, 1)+4095) &^ 4095
	if d.mistake == "one memory" {
		if d.shared == nil {
			d.shared = make([]byte, 8<<20)
		}
		at := unsafe.Pointer(&d.shared[4096-uintptr(unsafe.Pointer(&d.shared[0]))%4096])
		return at, nil
	}
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	d.spaces[unsafe.Pointer(&memory[0])] = memory
	return unsafe.Pointer(&memory[0]), nil
}

func (d *mistaken) FreeDataSpace(_ int, p unsafe.Pointer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	memory, ok := d.spaces[p]
	delete(d.spaces, p)
	if !ok {
		return nil
	}
	return syscall.Munmap(memory)
}

func (d *mistaken) CopyDataFromTo(from, to dlpack.Tensor, _ runtime.StreamHandle) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := from.Shape[0]
	bytes := func(t dlpack.Tensor) []byte {
		at := t.Data + uintptr(t.ByteOffset)
		return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)
	}
	direction := fmt.Sprintf("%v to %v", from.Device.Type == mistakenType, to.Device.Type == mistakenType)
	d.copies[direction]++
	src, dst := bytes(from), bytes(to)
	switch {
	case d.mistake == "no copy in the device" && direction == "true to true",
		d.mistake == "no copy to the host" && direction == "true to false",
		d.mistake == "no second copy to the device" && direction == "false to true" && d.copies[direction] == 2:
		return nil
	case d.mistake == "a byte is missing":
		src = src[:n-1]
	case d.mistake == "the first byte is missing":
		src, dst = src[1:], dst[1:]
	case d.mistake == "the halves are swapped" && direction == "true to true":
		src = slices.Concat(src[n/2:], src[:n/2])
	case d.mistake == "zeros":
		src = make([]byte, n)
	}
	copy(dst, src)
	return nil
}

func (d *mistaken) StreamSync(int, runtime.StreamHandle) error { return nil }

// A copy that is not done, or not completely, and memory that is not there, are wrong results.
func TestCases_FindMistakesOfDevices(t *testing.T) {
	require.NoError(t, registerMistaken())
	toDevice := copyCase("to_device", 4096, "", openHostCopy(4096, false, true))
	toHost := copyCase("to_host", 4096, "", openHostCopy(4096, false, false))
	local := copyCase("local", 4096, "", openLocalCopy(4096))
	all := map[string]*bench.Case{"to device": toDevice, "to host": toHost, "local": local}
	for _, k := range Launch() {
		if k.Name == "workspace_nested" || k.Name == "workspace_4KiB" || k.Name == "allocate_free_4KiB" ||
			k.Name == "stream_allocate_free_4KiB" {
			all[k.Name] = k
		}
	}
	every := []string{"to device", "to host", "local"}
	memory := []string{"workspace_nested", "workspace_4KiB", "allocate_free_4KiB", "stream_allocate_free_4KiB"}
	for mistake, found := range map[string][]string{
		"":                             nil,
		"no copy in the device":        {"local"},
		"no copy to the host":          append(slices.Clone(every), memory...),
		"no second copy to the device": append(slices.Clone(memory), "to device"),
		"a byte is missing":            append(slices.Clone(every), memory...),
		"the first byte is missing":    append(slices.Clone(every), memory...),
		"the halves are swapped":       {"local"},
		"zeros":                        append(slices.Clone(every), memory...),
		"one memory":                   {"workspace_nested", "local"},
	} {
		if mistake == "one memory" && os.Getenv("TVMGO_VALIDATE") == "1" {
			continue // validation rejects the second allocation
		}
		for name, k := range all {
			theMistaken.mistake, theMistaken.copies = mistake, map[string]int{}
			usedMistaken++
			on := &bench.Device{Name: "mistaken", Handle: dlpack.Device{Type: mistakenType, ID: int32(usedMistaken)}}
			err := try(context.Background(), k, on)
			if slices.Contains(found, name) {
				require.ErrorIs(t, err, bench.ErrWrongResult, "%s: %s", mistake, name)
			} else {
				require.NoError(t, err, "%s: %s", mistake, name)
			}
		}
	}
	runtime.Live() // frees what TVMGO_VALIDATE keeps for a while
	require.Empty(t, theMistaken.spaces, "all memory is freed")
}

// Kernels that do nothing, too much or something else, and launches that are lost, are wrong results.
func TestLaunch_FindsMistakesOfKernels(t *testing.T) {
	correct := bodies
	t.Cleanup(func() { bodies = correct })
	empty := []string{"kernel_launch_latency", "kernel_launch_queued", "function_call"}
	chains := []string{"kernel_launch_chain_1000", "graph_launch_chain_1000", "stream_sync_idle", "stream_wait_stream"}
	for _, c := range []struct {
		function, body string
		wrong          []string
	}{
		{"empty", "if n > 100000 { X[0] = n }", empty},              // does nothing
		{"empty", "X[0] = n", empty},                                // is not empty
		{"empty", "if n > 0 { X[0] = n + 1 }", empty},               // gets another argument
		{"increment", "X[0] = X[0]", chains},                        // does nothing
		{"increment", "X[0] = X[0] + 2", chains},                    // runs twice
		{"increment", "if X[0] < 1999 { X[0] = X[0] + 1 }", chains}, // one launch of two chains is lost
	} {
		bodies = slices.Clone(correct)
		for i := range bodies {
			if bodies[i].function == c.function {
				bodies[i].body = c.body
			}
		}
		for _, kind := range kinds {
			on := testDevice(t, kind)
			for _, k := range Launch()[:8] {
				err := try(t.Context(), k, on)
				if errors.Is(err, bench.ErrNotMeasured) { // TestLaunch says which
					continue
				}
				if slices.Contains(c.wrong, k.Name) {
					require.ErrorIs(t, err, bench.ErrWrongResult, "%s on %s: %s", k.ID(), on.Name, c.body)
				} else {
					require.NoError(t, err, "%s on %s: %s", k.ID(), on.Name, c.body)
				}
			}
		}
	}
}

package vulkan_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// launchOf creates a module from code and launches its kernel. Memory arguments are x, and scalars are 1.
func launchOf(code []byte, k runtime.KernelType, x *runtime.Tensor, block runtime.Dim3) error {
	m, err := runtime.NewDeviceModule("vulkan", "spv", code, k)
	if err != nil {
		return err
	}
	defer m.Close()
	kernel, err := m.Kernel(k.Name)
	if err != nil {
		return err
	}
	defer kernel.Close()
	var args []any
	for _, a := range k.Args {
		if a == memory {
			args = append(args, x)
		} else {
			args = append(args, 1)
		}
	}
	return kernel.Launch(nil, one, block, args...)
}

// A damaged or truncated shader never crashes the process, because the driver does not get shaders that it may crash
// on. The validation layer is off, as it would report many of these shaders.
func TestKernel_DamagedShaders(t *testing.T) {
	if !inChild() {
		need(t)
		passes(t, "TVMGO_VULKAN_VALIDATION=0", "TVMGO_CACHE_DIR=off")
		return
	}
	x := array(t, first, make([]float32, 1<<10))
	for file, block := range map[string]runtime.Dim3{"add": {64}, "reduce": {256}, "two": {64}, "stencil": {8, 8},
		"types": {1}} {
		code, k := words(t, file), types[file][0]
		for n := 4; n < len(code); n += 4 {
			require.ErrorIs(t, launchOf(code[:n], k, x, runtime.Dim3{}), runtime.ErrCorruptModule, "%s, cut at %d", file, n)
		}
		for at := 0; at < len(code); at += 4 {
			was := binary.LittleEndian.Uint32(code[at:])
			for _, now := range []uint32{0, was + 1, 1<<32 - 1} {
				changed := slices.Clone(code)
				binary.LittleEndian.PutUint32(changed[at:], now)
				_ = launchOf(changed, k, x, runtime.Dim3{}) // valid ones become pipelines; few run, because the block differs
			}
		}
		require.NoError(t, launchOf(code, k, x, block), file)
	}
	require.NoError(t, kernelWork(t, first))
}

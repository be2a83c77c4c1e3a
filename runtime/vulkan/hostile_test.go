package vulkan_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// launchOf makes a module of the code, if that can be done, and launches its kernel with arrays and ones.
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

// Whatever is changed in a shader, or cut off: drivers that would crash on it are not given it, and the process lives
// on. (The layer that validates would tell much of these, so it is not asked.)
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
				_ = launchOf(changed, k, x, runtime.Dim3{}) // a pipeline is made of what is right still; few run, as blocks differ
			}
		}
		require.NoError(t, launchOf(code, k, x, block), file)
	}
	require.NoError(t, kernelWork(t, first))
}

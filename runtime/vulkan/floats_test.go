package vulkan_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// Kernels that use float modes and atomic operations on floats run on devices that support them. The validation layer
// checks that the features are enabled.
func TestKernel_Floats(t *testing.T) {
	need(t)
	noLeaks(t)
	scaled, gathered := shader(t, "floats", "scaled"), shader(t, "floats", "gathered")
	driver, err := runtime.TargetProperty(first, "driver_name")
	require.NoError(t, err)
	for _, dev := range present() {
		data := numbers(64, func(i int) float32 { return float32(i) - 20 })
		data[1], data[2] = float32(math.Copysign(0, -1)), float32(math.Inf(1))
		x, y := array(t, dev, data), array(t, dev, make([]float32, 64))
		if err := scaled.Launch(nil, one, runtime.Dim3{64}, x, y); err != nil && driver != "llvmpipe" {
			t.Skip(err) // the device does not support it
		}
		third := float32(1.0 / 3)
		for i, got := range values[float32](t, y) {
			require.Equal(t, math.Float32bits(third*data[i]), math.Float32bits(got), "of %v", data[i])
		}
		data[2] = 1000
		x, y = array(t, dev, data), array(t, dev, make([]float32, 64))
		if err := gathered.Launch(nil, one, runtime.Dim3{64}, x, y); err != nil && driver != "llvmpipe" {
			t.Skip(err)
		}
		var sum float32
		for _, v := range data {
			sum += v
		}
		require.Equal(t, []float32{sum, -20, 1000}, values[float32](t, y)[:3])
	}
}

// swapped returns a module in which each sequence of words, which must occur, is replaced by another.
func swapped(t *testing.T, code []byte, pairs ...[2][]uint32) []byte {
	t.Helper()
	for _, p := range pairs {
		at := find(t, code, p[0]...)
		for i, w := range p[1] {
			code = patched(t, code, at+4*i, binary.LittleEndian.Uint32(code[at+4*i:]), w)
		}
	}
	return code
}

// If a device does not support a float mode or an atomic operation on floats, the error names the missing feature, for
// the width and the memory that the kernel uses.
func TestKernel_FloatsThatLack(t *testing.T) {
	if !inChild() {
		need(t)
		library := "TVMGO_VULKAN_LIBRARY=" + shim(t)
		passes(t, library, "TVMGO_VULKAN_VALIDATION=0", "SHIM_FLOAT_MODES=0,1", "SHIM_NO_FLOAT_ATOMICS=1")
		passes(t, library, "TVMGO_VULKAN_VALIDATION=0", "SHIM_FLOAT_MODES=1,1", "SHIM_NO_SHARED_FLOATS=1")
		passes(t, library, "TVMGO_VULKAN_VALIDATION=0", "SHIM_FLOAT_MODES=1,2")
		passes(t, library, "TVMGO_VULKAN_VALIDATION=0", "SHIM_FLOAT_MODES=1,0")
		return
	}
	noLeaks(t)
	floats, add := words(t, "floats"), words(t, "add")
	x, y := array(t, first, make([]float32, 64)), array(t, first, make([]float32, 64))
	launch := func(code []byte, kernel int) error {
		k := kernelOf(t, made(t, code, types["floats"]...), types["floats"][kernel].Name)
		defer k.Close()
		return k.Launch(nil, one, runtime.Dim3{64}, x, y)
	}
	adds := func(capability uint32) error {
		k := kernelOf(t, made(t, with(add, capability), types["add"]...), "add")
		defer k.Close()
		return k.Launch(nil, one, runtime.Dim3{64}, x, x, y, 64)
	}
	refused := func(err error, kernel, need, capability string) {
		t.Helper()
		requireError(t, err, runtime.ErrNotSupported, fmt.Sprintf("kernel %s needs %s (capability %s), which vulkan:0 (",
			kernel, need, capability), ") lacks")
	}
	capability := func(from, to uint32) [2][]uint32 { return [2][]uint32{{2<<16 | 17, from}, {2<<16 | 17, to}} }
	scaled := find(t, floats, 6<<16|16) // its execution mode is the first: LocalSize 64 1 1
	function := binary.LittleEndian.Uint32(floats[scaled+4:])
	mode := func(from, bits, to, toBits uint32) [2][]uint32 {
		return [2][]uint32{{4<<16 | 16, function, from, bits}, {4<<16 | 16, function, to, toBits}}
	}
	// Numbers of the capabilities of modes. The number of an execution mode is that of its capability minus 5.
	const denormPreserve, flushToZero, keepsSign, nearest, towardsZero = 4464, 4465, 4466, 4467, 4468
	modes := map[uint32]string{denormPreserve: "DenormPreserve", flushToZero: "DenormFlushToZero",
		keepsSign: "SignedZeroInfNanPreserve",
		nearest:   "RoundingModeRTE", towardsZero: "RoundingModeRTZ"}
	atomics := map[uint32]string{5612: "Float32AtomicMinMax", 5613: "Float64AtomicMinMax", 5616: "Float16AtomicMinMax",
		6033: "Float32AtomicAdd", 6034: "Float64AtomicAdd", 6095: "Float16AtomicAdd"}
	capabilities := map[uint32]string{5612: "AtomicFloat32MinMaxEXT", 5613: "AtomicFloat64MinMaxEXT",
		5616: "AtomicFloat16MinMaxEXT",
		6033: "AtomicFloat32AddEXT", 6034: "AtomicFloat64AddEXT", 6095: "AtomicFloat16AddEXT"}

	switch os.Getenv("SHIM_FLOAT_MODES") + " " + os.Getenv("SHIM_NO_FLOAT_ATOMICS") + os.Getenv("SHIM_NO_SHARED_FLOATS") {
	case "0,1 1": // the device supports none of them
		for c, name := range modes {
			refused(adds(c), "add", fmt.Sprintf("shader%[1]sFloat16 or shader%[1]sFloat32 or shader%[1]sFloat64", name), name)
		}
		for c, name := range atomics {
			refused(adds(c), "add", fmt.Sprintf("shaderBuffer%[1]s or shaderShared%[1]s", name), capabilities[c])
		}
	case "1,1 1": // the device supports all modes, but atomic operations only on buffers
		for c := range modes {
			require.NoError(t, adds(c))
			require.NoError(t, launch(swapped(t, floats, capability(nearest, c), mode(nearest-5, 32, c-5, 32)), 0))
		}
		requireError(t, launch(swapped(t, floats, mode(nearest-5, 32, nearest-5, 8)), 0), runtime.ErrNotSupported,
			"kernel scaled needs shaderRoundingModeRTEFloat8 (")
		refused(launch(floats, 1), "gathered", "shaderSharedFloat32AtomicAdd", "AtomicFloat32AddEXT")
		require.NoError(t, launch(floats, 0), "a kernel without atomic operations")
	case "1,2 ", "1,0 ": // all widths, or all except 32 bits, must have the same mode
		differ := func(a, b uint32) error { // replaces the modes SignedZeroInfNanPreserve and RoundingModeRTE
			return launch(swapped(t, floats, capability(keepsSign, towardsZero), mode(nearest-5, 32, towardsZero-5, b),
				mode(keepsSign-5, 32, nearest-5, a)), 0)
		}
		requireError(t, differ(16, 64), runtime.ErrNotSupported, "kernel scaled sets RoundingModeRTE for floats of 16 bits "+
			"and RoundingModeRTZ for floats of 64 bits; vulkan:0 (",
			"(roundingModeIndependence) has only one mode for both")
		if err := differ(32, 64); os.Getenv("SHIM_FLOAT_MODES") == "1,0" {
			require.NoError(t, err)
		} else {
			requireError(t, err, runtime.ErrNotSupported,
				"RoundingModeRTE for floats of 32 bits and RoundingModeRTZ for floats of 64 bits")
		}
	default:
		t.Fatal("unexpected environment variables")
	}
}

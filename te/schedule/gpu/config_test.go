package gpu

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
)

// targets are targets with very different limits.
var targets = []string{
	"opencl", "opencl -device_type=cpu -max_num_threads=4096 -max_threads_per_block=4096",
	"opencl -max_threads_per_block=1 -max_shared_memory_per_block=0", "vulkan", "vulkan -device_type=cpu",
	"cuda -arch=sm_60", "nvidia/h100", "nvptx -mcpu=sm_80", "rocm", "metal", "webgpu",
	"vulkan -max_threads_per_block=48 -max_num_threads=100",
}

func newTarget(t *testing.T, text string) *target.Target { return must.Get(target.New(text))(t) }

// The default parameters fit the target that they were derived from, and survive JSON.
func TestDefaultConfig_FitsItsTarget(t *testing.T) {
	for _, text := range targets {
		to := newTarget(t, text)
		c := DefaultConfig(to)
		require.NoError(t, c.Check(to), text)
		var read Config
		require.NoError(t, json.Unmarshal(must.Get(json.Marshal(c))(t), &read), text)
		require.Equal(t, c, &read, text)
	}
}

func TestConfig_CheckNamesFieldAndLimit(t *testing.T) {
	to := newTarget(t, "opencl -max_threads_per_block=128")
	for want, change := range map[string]func(c *Config){
		"Config.Elementwise.Threads is 129: want 1 to 128 (the target's max_threads_per_block)": func(c *Config) {
			c.Elementwise.Threads = 129
		},
		"Config.Transpose.TileBytes is 12288: want a power of two from 128 to 16384 (RowBytes, and the target's " +
			"max_shared_memory_per_block)": func(c *Config) { c.Transpose.TileBytes = 12 << 10 },
		"Config.Elementwise.Threads is 0: want 1 to 128 (the target's max_threads_per_block)": func(c *Config) {
			c.Elementwise.Threads = 0
		},
	} {
		c := DefaultConfig(to)
		change(c)
		require.EqualError(t, c.Check(to), want)
	}
}

func TestLimitsOf(t *testing.T) {
	for text, want := range map[string]Limits{
		"opencl": {256, 16384, 16384, 0, 1, [3]int{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}, 16, false, false, false, nil, false},
		"opencl -device_type=cpu -max_threads_per_block=64 -max_shared_memory_per_block=100": {
			64, 100, 100, 0, 1, [3]int{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}, 16, false, true, false, nil, false},
		"vulkan -device_type=cpu -thread_warp_size=8": {
			256, 16384, 16384, 0, 8, [3]int{65535, 65535, 65535}, 4, false, true, false, nil, true},
		"vulkan -device_type=discrete": {
			256, 16384, 16384, 0, 1, [3]int{65535, 65535, 65535}, 4, false, false, false, nil, false},
		"nvptx -mcpu=sm_80": {
			1024, 49152, 163 << 10, 163 << 10, 32, [3]int{1<<31 - 1, 65535, 65535}, 4, true, false, true, []Fragment{
				{tir.Float16, tir.Float32, 16, 16, 16}, {tir.Int8, tir.Int32, 16, 16, 32}, {tir.UInt8, tir.Int32, 16, 16, 32},
				{tir.BFloat16, tir.Float32, 16, 16, 16}, {tir.Float32, tir.Float32, 16, 16, 8}}, false},
		"cuda -arch=sm_90 -max_shared_memory_per_block=65536": {
			1024, 65536, 65536, 227 << 10, 32, [3]int{1<<31 - 1, 65535, 65535}, 4, true, false, true, LimitsOf(newTarget(t,
				"nvptx -mcpu=sm_80")).Fragments, false},
		"cuda -arch=sm_75": {
			1024, 49152, 64 << 10, 64 << 10, 32, [3]int{1<<31 - 1, 65535, 65535}, 4, true, false, false, []Fragment{
				{tir.Float16, tir.Float32, 16, 16, 16}, {tir.Int8, tir.Int32, 16, 16, 32}, {tir.UInt8, tir.Int32, 16, 16, 32}},
			false},
	} {
		require.Equal(t, want, LimitsOf(newTarget(t, text)), text)
	}
}

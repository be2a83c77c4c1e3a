package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

func TestNew_ArmFeatures(t *testing.T) {
	got := must.Get(target.New("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -keys=mine"))(t)
	require.Equal(t, map[string]any{"is_aarch64": true, "has_asimd": true, "has_sve": true, "has_dotprod": true,
		"has_matmul_i8": true,
		"has_fp16_simd": true, "has_sme": false}, got.Features())
	require.Equal(t, []string{"mine", "arm_cpu", "cpu"}, got.Keys())
	require.True(t, must.Get(target.Get[bool](got, "feature.has_sve"))(t))

	got = must.Get(target.New(map[string]any{"kind": "c", "mcpu": "cortex-m55+nomve", "device": "board"}))(t)
	require.Equal(t, map[string]any{"has_dsp": true, "has_mve": false}, got.Features())
	require.Equal(t, []string{"arm_cpu", "cpu", "board"}, got.Keys())

	got = must.Get(target.New("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512"))(t)
	require.Empty(t, got.Features())
	require.Equal(t, []string{"cpu"}, got.Keys())
}

func TestCPUFeatures(t *testing.T) {
	got := must.Get(target.New("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr=-avx2,+sse4.1"))(t)
	require.True(t, got.HasCPUFeature("avx"))
	require.False(t, got.HasCPUFeature("avx2"))
	require.Contains(t, got.CPUFeatures(), "sse4.1")

	got = must.Get(target.New("cuda -arch=sm_90"))(t)
	require.Nil(t, got.CPUFeatures())
	require.False(t, got.HasCPUFeature("avx"))
}

func TestNew_WarnsOfCPUs(t *testing.T) {
	for text, want := range map[string]string{
		"llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx51": `did you mean "skylake-avx512"?`,
		"llvm -mtriple=aarch64-linux-gnu -mattr=neon":        `mattr "neon" starts with neither + nor -`,
	} {
		got := must.Get(target.New(text))(t)
		require.Len(t, got.Warnings(), 1, text)
		require.Contains(t, got.Warnings()[0], want)
	}
	for _, text := range []string{"llvm -mcpu=haswell -mtriple=x86_64-linux-gnu", "llvm -mtriple=wasm32 -mcpu=own",
		"c -mcpu=cortex-m4+nodsp", "c -mcpu=neoverse-n1 -mattr=+i8mm", "c -march=neoverse-n1 -mattr=-rdm",
		"llvm -mtriple=arm-none-eabi -mcpu=cortex-m55+nomve"} {
		got := must.Get(target.New(text))(t)
		require.Empty(t, got.Warnings(), text)
	}
}

package target_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// "native" is replaced by the name of this machine's CPU when the target is made, with a warning. The target's JSON
// names the CPU, and gives the same target.
func TestNew_Native(t *testing.T) {
	cpu, more := cpufeatures.HostCPU()
	if cpu == "" {
		t.Skip("this machine's CPU is not known")
	}
	for text, cpu := range map[string]string{"llvm -mcpu=native": cpu, "c -march=native": cpufeatures.HostArch(),
		"c -mcpu=native": cpu, `{"kind":"cuda","arch":"sm_80","host":{"kind":"llvm","mcpu":"native"}}`: cpu} {
		t.Run(text, func(t *testing.T) {
			made := must.Get(target.New(text))(t)
			require.NotContains(t, made.JSON(), "native")
			require.Contains(t, made.JSON(), cpu)
			said := 0
			for _, w := range made.Warnings() {
				if strings.Contains(w, `"native" is "`+cpu+`" on this machine: generated code may not run on other machines`) {
					said++
				}
			}
			require.Equal(t, 1, said, made.Warnings())
			again := must.Get(target.New(made.JSON()))(t)
			require.True(t, made.Equal(again))
			require.Equal(t, made.Hash(), again.Hash())
			require.Empty(t, again.Warnings())
		})
	}
	made := must.Get(target.New("llvm -mcpu=native -mattr=-avx2"))(t)
	require.False(t, made.HasCPUFeature("avx2"), "an explicit feature has precedence")
	for _, m := range more {
		if m != "+avx2" {
			require.Contains(t, made.JSON(), m)
		}
	}
}

// The native instruction set of kind c has the features beside it that generated code uses, and those of mattr after
// them.
func TestNew_NativeInstructionSet(t *testing.T) {
	machine.NeedX86(t)
	made := must.Get(target.New("c -march=native -mattr=-fma"))(t)
	attrs := must.Get(target.Get[[]string](made, "mattr"))(t)
	require.Equal(t, append(cpufeatures.BesideHostArch(), "-fma"), attrs)
	made = must.Get(target.New("c -march=x86-64-v4 -mattr=+avx512vnni,+nosuch"))(t)
	require.True(t, made.HasCPUFeature("avx512vnni"))
	require.Contains(t, strings.Join(made.Warnings(), "\n"), `mattr "+nosuch" is not a known feature`)
	made = must.Get(target.New("c -march=armv8.2-a -mattr=+dotprod"))(t)
	require.Empty(t, made.Warnings())
}

// "native" for another architecture does not mean this machine.
func TestNew_NativeOfAnotherArchitecture(t *testing.T) {
	made := must.Get(target.New("llvm -mtriple=riscv64-linux-gnu -mcpu=native"))(t)
	require.Contains(t, made.JSON(), "native")
}

// A feature that the architecture does not have gives a warning with the nearest name.
func TestNew_UnknownFeature(t *testing.T) {
	for text, want := range map[string]string{
		"llvm -mtriple=x86_64-linux-gnu -mattr=+nosuch":        `mattr "+nosuch" is not a known feature of x86_64-linux-gnu`,
		"llvm -mtriple=x86_64-linux-gnu -mattr=+avx2,-avx512q": `did you mean "-avx512`,
		"llvm -mtriple=aarch64-linux-gnu -mattr=+avx2":         "mattr \"+avx2\" is not a known feature of aarch64-linux-gnu",
		"llvm -mcpu=generic -mattr=+nosuch":                    "this machine's architecture",
	} {
		made, err := target.New(text)
		require.NoError(t, err, text)
		require.Contains(t, strings.Join(made.Warnings(), "\n"), want, text)
	}
	made := must.Get(target.New("llvm -mtriple=x86_64-linux-gnu -mattr=+avx2,-avx512f"))(t)
	require.Empty(t, made.Warnings())
	made = must.Get(target.New("llvm -mtriple=nosucharch-linux-gnu -mattr=+nosuch"))(t)
	require.NotContains(t, strings.Join(made.Warnings(), "\n"), "nosuch\" is no feature", "its features are unknown")
}

package llvm_test

import (
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// An object for another machine is compiled without files of that machine, and cannot be called here.
func TestCross_Object(t *testing.T) {
	for _, row := range []struct {
		target  string
		machine elf.Machine
		class   elf.Class
	}{
		{"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", elf.EM_AARCH64, elf.ELFCLASS64},
		{"llvm -mtriple=riscv64-linux-gnu -mabi=lp64d -mattr=+m,+a,+f,+d,+c", elf.EM_RISCV, elf.ELFCLASS64},
		{"llvm -mtriple=armv7-linux-gnueabihf -mattr=+neon", elf.EM_ARM, elf.ELFCLASS32},
		{"llvm -mtriple=i686-linux-gnu -mcpu=pentium4", elf.EM_386, elf.ELFCLASS32},
		{"llvm -mtriple=powerpc64le-linux-gnu", elf.EM_PPC64, elf.ELFCLASS64},
		{"llvm -mtriple=x86_64-linux-gnu", elf.EM_X86_64, elf.ELFCLASS64},
		{"raspberry-pi/4b-aarch64", elf.EM_AARCH64, elf.ELFCLASS64},
	} {
		m := built(t, parsed(t, addProgram+dotProgram), row.target)
		path := filepath.Join(t.TempDir(), "a.o")
		require.NoError(t, m.SaveToFile(path, "o"), row.target)
		f := must.Get(elf.Open(path))(t)
		symbols := must.Get(f.Symbols())(t)
		require.NoError(t, f.Close())
		require.Equal(t, row.machine, f.Machine, row.target)
		require.Equal(t, row.class, f.Class, row.target)
		require.Equal(t, elf.ET_REL, f.Type)
		require.True(t, hasSymbol(symbols, "__tvm_ffi_add"), row.target)

		tar := filepath.Join(t.TempDir(), "a.tar")
		require.NoError(t, export.Library(context.Background(), m, tar), row.target)

		if row.machine == hostMachine(t) {
			requireAdds(t, m)
		} else {
			_, err := m.Function("add")
			require.ErrorIs(t, err, runtime.ErrNotSupported)
			require.ErrorContains(t, err, "function add of a module of kind llvm: its code is for "+
				strings.ToLower(strings.TrimPrefix(row.machine.String(), "EM_")))
			require.ErrorContains(t, err, "export it by export.Library")
		}
	}
}

func hasSymbol(symbols []elf.Symbol, name string) bool {
	for _, s := range symbols {
		if s.Name == name && s.Section != elf.SHN_UNDEF {
			return true
		}
	}
	return false
}

// hostMachine returns the machine of this test process.
func hostMachine(t testing.TB) elf.Machine {
	t.Helper()
	self := must.Get(os.Executable())(t)
	f := must.Get(elf.Open(self))(t)
	defer f.Close()
	return f.Machine
}

// Code for a CPU with more features than this one is not run.
func TestCross_CPUHasMore(t *testing.T) {
	if hostMachine(t) != elf.EM_X86_64 {
		t.Skip("of other machines than x86 it is not known which features the CPU has")
	}
	info := must.Get(os.ReadFile("/proc/cpuinfo"))(t)
	const feature = "xop" // of AMD's CPUs from 2011 to 2017
	if strings.Contains(string(info), " "+feature+" ") {
		t.Skipf("this CPU has %s", feature)
	}
	m := built(t, parsed(t, addProgram), linux+" -mattr=+"+feature)
	_, err := m.Function("add")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "its code may use ")
	require.ErrorContains(t, err, feature)
	require.ErrorContains(t, err, "which this machine's CPU does not have")
	requireAdds(t, built(t, parsed(t, addProgram), linux+" -mcpu=native"))
	requireAdds(t, built(t, parsed(t, addProgram), linux+" -mcpu=x86-64-v2"))
}

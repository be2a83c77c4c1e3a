package fakecuda

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func exported(t *testing.T, path string) map[string]bool {
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	symbols := must.Get(f.DynamicSymbols())(t)
	names := map[string]bool{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && s.Name != "" { // GNU ld for arm64 exports sections, too
			names[s.Name] = true
		}
	}
	return names
}

func TestBuild_Without(t *testing.T) {
	full, older := exported(t, Build(t)), exported(t, Build(t, Without("cuLaunchKernelEx", "cuMemAllocFromPoolAsync")))
	for _, name := range []string{"cuLaunchKernelEx", "cuMemAllocFromPoolAsync"} {
		require.True(t, full[name])
		require.False(t, older[name], "%s is hidden", name)
	}
	require.Len(t, older, len(full)-2)
	for name := range full {
		require.Regexp(t, `^(cu[A-Z]|fakecuda_)`, name, "nothing else is exported")
	}
}

func TestBuild_IsKept(t *testing.T) {
	path := Build(t)
	before := must.Get(os.Stat(path))(t)
	require.Equal(t, path, Build(t))
	after := must.Get(os.Stat(path))(t)
	require.True(t, os.SameFile(before, after))
}

func TestKernels_OfATest(t *testing.T) {
	source := filepath.Join(t.TempDir(), "mine.c")
	require.NoError(t, os.WriteFile(source, []byte(`#include "fakecuda_kernel.h"
static int run(const fakecuda_launch *l) { return l->grid[0] ? 0 : 1; }
FAKECUDA_KERNEL(mine, .name = "mine", .run = run, .nparams = 0)
`), 0o666))
	require.True(t, exported(t, Kernels(t, source))["fakecuda_kernel_list"])
	require.NotEqual(t, Kernels(t), Kernels(t, source))
}

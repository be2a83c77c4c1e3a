package codegen_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// compilerLog sets a C compiler that logs its arguments.
func compilerLog(t *testing.T) (log func() string) {
	path, cc := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "cc")
	require.NoError(t, os.WriteFile(cc, []byte("#!/bin/sh\necho \"$@\" >>"+path+"\nexec gcc \"$@\"\n"), 0o777))
	t.Setenv("CC", cc)
	return func() string {
		b := must.Get(os.ReadFile(path))(t)
		require.NoError(t, os.Remove(path))
		return string(b)
	}
}

// The compiler gets the target's processor, both for direct calls and for an export. The exporter's own options follow
// it.
func TestBuild_ProcessorOfKindC(t *testing.T) {
	machine.NeedX86(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		require.Empty(t, os.Getenv("CI"), "every build needs gcc here")
		t.Skip("the flags are GCC's")
	}
	m := built(t, scale(t, 2), kind(t, "c -march=x86-64-v3 -mcpu=znver2 -mattr=-movbe,+adx"))
	log := compilerLog(t)
	run(t, m)
	require.Contains(t, log(), " -march=x86-64-v3 -mtune=znver2 -mno-movbe -madx ")
	path := filepath.Join(t.TempDir(), "scale.so")
	require.NoError(t, export.Library(context.Background(), m, path, export.Flags("-march=x86-64-v2")))
	require.Contains(t, log(), " -march=x86-64-v3 -mtune=znver2 -mno-movbe -madx -march=x86-64-v2 ")
	l := must.Get(runtime.Load(context.Background(), path))(t)
	require.Equal(t, []float32{1, 1, 1}, run(t, l))
	require.NoError(t, l.Close())

	require.NoError(t, export.Library(context.Background(), built(t, scale(t, 2), kind(t, "c")), path))
	require.NotContains(t, log(), "-march")
	wide := filepath.Join(t.TempDir(), "wide.tar")
	require.NoError(t, export.Library(context.Background(), built(t, scale(t, 2), kind(t, "c -march=x86-64-v4")), wide))
	require.Regexp(t, `\tv(mul|add)s`, disassembled(t, wide)) // AVX instructions
	require.NoError(t, export.Library(context.Background(), built(t, scale(t, 2), kind(t, "c")), wide))
	require.NotRegexp(t, `\tv(mul|add)s`, disassembled(t, wide))
}

// disassembled returns the code of the only object in an archive.
func disassembled(t *testing.T, tar string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "cd "+filepath.Dir(tar)+" && tar xf "+tar+
		" && objdump -d lib0.o").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// The flags of an Arm CPU are those of GCC for Arm, also if march has its name. An unknown CPU is an error.
func TestBuild_ProcessorOfOtherMachines(t *testing.T) {
	machine.NeedX86(t)
	const dot = "c -march=neoverse-n1 -mattr=+rdm,-dotprod"
	m := built(t, scale(t, 2), kind(t, "c -mcpu=cortex-a72"))
	path := filepath.Join(t.TempDir(), "scale.so")
	if _, err := exec.LookPath("aarch64-linux-gnu-gcc"); err != nil {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs aarch64-linux-gnu-gcc")
		t.Skip("no compiler for aarch64: build/scripts/deps.sh installs it")
	}
	err := export.Library(context.Background(), m, path)
	require.ErrorContains(t, err, "cortex-a72")
	require.NoError(t, export.Library(context.Background(), m, path, export.Compiler("aarch64-linux-gnu-gcc")))
	m = built(t, scale(t, 2), kind(t, dot))
	require.NoError(t, export.Library(context.Background(), m, path, export.Compiler("aarch64-linux-gnu-gcc")))
	require.ErrorContains(t, export.Library(context.Background(), m, path), "-mcpu=neoverse-n1+rdma+nodotprod")
	_, err = codegen.Build(scale(t, 2), kind(t, "c -march=x86-64-v9"))
	require.ErrorContains(t, err, `target option march "x86-64-v9"`)
}

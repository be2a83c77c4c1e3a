package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// onCPU returns the prefix of a command that runs on an emulated x86-64 CPU.
func onCPU(t *testing.T, cpu string) []string {
	t.Helper()
	machine.NeedX86(t)
	qemu, err := exec.LookPath("qemu-x86_64")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs qemu-user")
		t.Skip("other CPUs are emulated by qemu-x86_64, which is not in PATH (Debian: apt install qemu-user)")
	}
	return []string{qemu, "-cpu", cpu}
}

const addone = `func addone(x: handle, y: handle) {
  buffer x: float32[1001], param x
  buffer y: float32[1001], param y
  for i in range(1001) { y[i] = x[i] + 1.0 }
}
`

// The library runs on every x86-64 CPU, and so does what is built without the name of a CPU. Code for another CPU is an
// error that names what this one lacks, instead of SIGILL, for each compiler and with a check of signatures as well.
func TestOtherCPU(t *testing.T) {
	t.Parallel()
	oldest, old, avx2 := onCPU(t, "core2duo"), onCPU(t, "Nehalem"), onCPU(t, "max,avx512f=off")
	l := newLab(t)
	program := l.compile(t, "othercpu_test", "confined_test.c", l.linked()...)
	source := l.path("bin", "addone.tir")
	require.NoError(t, os.WriteFile(source, []byte(addone), 0o666))
	build := func(target string) string {
		out := l.path("bin", strings.NewReplacer(" ", "", "=", "").Replace(target)+".so")
		r := l.run(t, []string{"TVMGO_CACHE_DIR=off"}, filepath.Join(l.dist, "bin", "tvmgo"), "build", source, "-o", out,
			"--target", target)
		require.True(t, r.ok, r.out)
		return out
	}
	run := func(cpu []string, file, env string) result {
		return l.run(t, []string{env}, append(cpu[:len(cpu):len(cpu)], program, "2", file, l.path("artifacts"), "addone")...)
	}
	for _, file := range []string{build("c"), build("llvm"), build("c -march=x86-64"), build("llvm -mcpu=x86-64")} {
		for _, cpu := range [][]string{oldest, old, avx2} {
			for _, env := range []string{"", "TVMGO_PRIVATE_LOAD=1"} {
				require.Equal(t, "ok\n", run(cpu, file, env).out, "%s %s", file, cpu)
			}
		}
	}
	// Apache TVM notes nothing.
	require.Equal(t, "ok\n", run(avx2, l.modern("addone_llvm"), "").out)
	for _, c := range []struct {
		target, lacks string
		cpus          [][]string // that lack it
	}{
		{"c -march=nehalem", "sse4.1, sse4.2, popcnt", [][]string{oldest}},
		{"c -march=haswell", "avx, avx2, fma, f16c, bmi, bmi2, ", [][]string{old}},
		{"llvm -mcpu=haswell", "avx, avx2, fma, f16c, bmi, bmi2, ", [][]string{old}},
		{"c -mattr=+avx2", "avx, avx2", [][]string{oldest, old}},
		{"llvm -mattr=+avx512f", "avx512f", [][]string{old, avx2}},
		{"c -march=skylake-avx512", "avx512f, avx512cd, avx512bw, avx512dq, avx512vl", [][]string{avx2}},
	} {
		file := build(c.target)
		for _, cpu := range c.cpus {
			r := run(cpu, file, "TVMGO_PRIVATE_LOAD=0")
			require.True(t, strings.HasPrefix(r.out, "NotSupportedError: load "+file+": its code may use instructions "+
				"that this machine's CPU does not have ("), "%s %s", cpu, r.out)
			require.Contains(t, r.out, c.lacks)
			require.Zero(t, r.signal)
		}
		if !strings.Contains(c.lacks, "avx512") {
			require.Equal(t, "ok\n", run(avx2, file, "").out, file)
		}
	}
}

// Linkers can note a level of x86-64 in a library, and the dynamic linker refuses it.
func TestOtherCPU_Level(t *testing.T) {
	t.Parallel()
	old := onCPU(t, "Nehalem")
	l := newLab(t)
	program := l.compile(t, "othercpu_level_test", "confined_test.c", l.linked()...)
	file, text := l.path("bin", "level.so"), l.path("bin", "level.c")
	require.NoError(t, os.WriteFile(text, []byte("int f(void) { return 1; }\n"), 0o666))
	must.Get(exec.Command("cc", "-shared", "-fPIC", "-Wl,-z,x86-64-v4", "-o", file, text).Output())(t)
	r := l.run(t, nil, append(old, program, "1", file, l.path("artifacts"), "addone")...)
	require.Contains(t, r.out, "load "+file+": it was linked for CPUs with more instructions than this machine's has")
	require.Contains(t, r.out, "export it for this CPU, or for every CPU")
}

package cuda_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/cuda"
	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// onDevice is a target for an architecture, with C for the host.
func onDevice(t testing.TB, arch string) *target.Target {
	t.Helper()
	return must.Get(target.New(`{"kind": "cuda", "arch": "` + arch + `", "host": {"kind": "c"}}`))(t)
}

func parsed(t testing.TB, source string) *tir.IRModule {
	t.Helper()
	m := must.Get(text.Parse(source))(t)
	require.NoError(t, tir.Check(m))
	return m
}

// source returns the CUDA C of a program's kernels.
func source(t testing.TB, m *tir.IRModule) string {
	t.Helper()
	built := must.Get(codegen.Build(m, onDevice(t, "sm_80")))(t)
	defer built.Close()
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	return must.Get(imports[0].GetSource("cuda"))(t)
}

// deprecated is what NVRTC 12.9 says about old architectures.
var deprecated = regexp.MustCompile(`^nvrtc: warning: Architectures prior to .* are deprecated .*\n?`)

var archs = []string{"sm_60", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

// compiled compiles CUDA C to PTX for an architecture, and assembles it.
func compiled(t testing.TB, code, arch string) nvrtc.Result {
	t.Helper()
	nvrtctest.Need(t)
	number := must.Get(strconv.Atoi(strings.TrimPrefix(arch, "sm_")))(t)
	n := must.Get(nvrtc.FindArch(number))(t)
	if !n.Supports(number) {
		t.Skipf("%v does not support %s", n, arch)
	}
	r, err := n.CompileCached(context.Background(), nvrtc.Source{Name: "kernels.cu", Code: code, Arch: arch,
		Want: nvrtc.CUBIN})
	require.NoError(t, err, "%s\n%s", arch, code)
	require.Empty(t, deprecated.ReplaceAllString(r.Log, ""), "%s\n%s", arch, code)
	return r
}

package opencl_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// shuffledSums adds rows of 64 elements by 64 threads, 32 of which are a subgroup.
func shuffledSums(t *testing.T, typ tir.Type) *tir.IRModule {
	a := te.Placeholder(te.Dims(4, 64), typ, "A")
	k := te.ReduceAxis(tir.I32(0), tir.I32(64), "k")
	c := te.Compute(te.Dims(4), "C", func(i ...tir.Expr) tir.Expr { return te.Max(a.At(i[0], k.Var), k) })
	return gpuprograms.Scheduled(t, "sums", []any{a, c}, c)(func(s *te.Schedule) {
		st := s.Stage(c)
		st.Bind(c.Axes()[0], "blockIdx.x")
		st.Bind(k, "threadIdx.x")
		st.ReduceByShuffle(32)
	})
}

// buildFor returns the source of a module's kernels for a target.
func buildFor(t *testing.T, m *tir.IRModule, options string) (string, error) {
	t.Helper()
	built, err := codegen.Build(m, must.Get(target.New("opencl -host=c "+options))(t))
	if err != nil {
		return "", err
	}
	defer built.Close()
	imports := must.Get(built.Imports())(t)
	defer func(m *runtime.Module) { m.Close() }(imports[0])
	return imports[0].GetSource("cl")
}

func TestEmit_Shuffles(t *testing.T) {
	for options, want := range map[string][]string{
		"-extensions=cl_khr_subgroup_shuffle -thread_warp_size=32": {
			"#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n", "= sub_group_shuffle_xor(C_part[0], (uint)(16));",
			"barrier(CLK_LOCAL_MEM_FENCE);"},
		"-extensions=cl_intel_subgroups,cl_intel_required_subgroup_size -thread_warp_size=32": {
			"#pragma OPENCL EXTENSION cl_intel_subgroups : enable\n", "= intel_sub_group_shuffle_xor(C_part[0], (uint)(16));",
			"__kernel __attribute__((intel_reqd_sub_group_size(32))) __attribute__((reqd_work_group_size(64, 1, 1)))"},
	} {
		code := must.Get(buildFor(t, shuffledSums(t, tir.Float32), options))(t)
		for _, w := range want {
			require.Contains(t, code, w)
		}
		require.Equal(t, 1, strings.Count(code, "barrier("), code)
		require.NotContains(t, must.Get(buildFor(t, gpuprograms.Tiles(t, 13, 11, 10, tir.Float32), options))(t), "subgroup")
	}
	for typ, want := range map[tir.Type]string{tir.Int8: "(char)sub_group_shuffle_xor((int)(C_part[0]), (uint)(16))",
		tir.Float16: "sub_group_shuffle_xor(tvmgo_from_float16(C_part[0]), (uint)(16))",
		tir.UInt64:  "sub_group_shuffle_xor(C_part[0]"} {
		code := must.Get(buildFor(t, shuffledSums(t, typ), "-extensions=cl_khr_subgroup_shuffle -thread_warp_size=32"))(t)
		require.Contains(t, code, want)
		clang, err := exec.LookPath("clang")
		if err != nil {
			continue
		}
		cmd := exec.Command(clang, "--target=spir64", "-x", "cl", "-cl-std=CL3.0", "-Xclang",
			"-finclude-default-header", "-fsyntax-only", "-Dcl_khr_subgroup_shuffle=1",
			"-Werror=implicit-function-declaration", "-")
		cmd.Stdin = strings.NewReader(code)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, code)
	}
}

func TestEmit_ShufflesNeedAnExtension(t *testing.T) {
	_, err := buildFor(t, shuffledSums(t, tir.Float32), "-thread_warp_size=32")
	require.ErrorContains(t, err, `function sums_kernel: it calls warp_shuffle, and the extensions of target opencl `+
		`include neither cl_khr_subgroup_shuffle nor cl_intel_subgroups`)
	_, err = buildFor(t, shuffledSums(t, tir.Float32), "-extensions=cl_khr_subgroup_shuffle -thread_warp_size=16")
	require.ErrorContains(t, err, "warp_shuffle_xor moves a value among 32 threads of a warp, and thread_warp_size of "+
		"target opencl is 16")
}

// A target that lists extensions of its device has 64-bit floats only by one of them.
func TestEmit_DoublesNeedAnExtension(t *testing.T) {
	for typ, fails := range map[tir.Type]bool{tir.Float64: true, tir.Float32: false, tir.Int64: false} {
		_, err := buildFor(t, shuffledSums(t, typ), "-extensions=cl_khr_subgroup_shuffle -thread_warp_size=32")
		if fails {
			require.ErrorContains(t, err, `function sums_kernel: it has values of type float64, and the extensions of `+
				`target opencl do not include cl_khr_fp64: cast them to float32, or add it if the device has it`)
		} else {
			require.NoError(t, err)
		}
		_, err = buildFor(t, shuffledSums(t, typ), "-extensions=cl_khr_subgroup_shuffle,cl_khr_fp64 -thread_warp_size=32")
		require.NoError(t, err)
	}
}

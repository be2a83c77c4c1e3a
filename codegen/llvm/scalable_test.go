//go:build cgo && arm64

package llvm_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// scalableCode matches the disassembly of an instruction with a register of SVE.
var scalableCode = regexp.MustCompile(`\bz\d+\.[bhsd]\b`)

// Code with scalable vectors (SVE) is right for every number of elements around the length of a vector, which
// build/scripts/test-arm64.sh changes: TVMGO_TEST_SVE is the length in bytes, or 0 for a CPU without SVE.
func TestScalableVectors(t *testing.T) {
	text := os.Getenv("TVMGO_TEST_SVE")
	if text == "" {
		t.Skip("build/scripts/test-arm64.sh chooses the length of vectors")
	}
	length := must.Get(strconv.Atoi(text))(t)
	actual, err := unix.PrctlRetInt(unix.PR_SVE_GET_VL, 0, 0, 0, 0)
	targets := []string{"llvm -mtriple=aarch64-linux-gnu", "c"}
	if length > 0 {
		require.NoError(t, err)
		require.Equal(t, length, actual&unix.PR_SVE_VL_LEN_MASK)
		targets = append(targets, "llvm -mtriple=aarch64-linux-gnu -mattr=+sve",
			"llvm -mtriple=aarch64-linux-gnu -mattr=+sve2", "c -march=armv8.2-a+sve")
	} else {
		require.Error(t, err)
	}
	scalable := 0
	for _, description := range targets {
		m := built(t, parsed(t, addProgram+dotProgram), description)
		path := filepath.Join(t.TempDir(), "a.so")
		require.NoError(t, export.Library(context.Background(), m, path, export.Flags("-O3")), description)
		code := must.Get(exec.Command("objdump", "-d", path).Output())(t)
		if scalableCode.Match(code) {
			scalable++
		}
		loaded := must.Open(runtime.Load(context.Background(), path))(t)
		add, dot := must.Get(loaded.Function("add"))(t), must.Get(loaded.Function("dot"))(t)
		for n := int64(1); n <= 150; n += 1 + n/40 {
			a, b, sum := make([]float32, n), make([]float32, n), float32(0)
			for i := range a {
				a[i], b[i] = float32(i%7)-3, 0.25*float32(i%5)
				sum += a[i] * b[i] / 3
			}
			x, y := must.Open(runtime.FromSlice(a, n))(t), must.Open(runtime.FromSlice(b, n))(t)
			z, d := must.Open(runtime.FromSlice(make([]float32, n), n))(t), must.Open(runtime.FromSlice([]float32{9}, 1))(t)
			must.Get(add.Call(x, y, z))(t)
			for i, got := range must.Get(runtime.ToSlice[float32](z))(t) {
				require.Equal(t, a[i]+b[i], got, "%s, %d of %d", description, i, n)
			}
			must.Get(dot.Call(x, y, d))(t)
			require.InEpsilon(t, math.Exp(float64(sum)), must.Get(runtime.ToSlice[float32](d))(t)[0], 1e-5, description)
		}
	}
	if length > 0 {
		require.Equal(t, 3, scalable, "targets whose code has scalable vectors")
	} else {
		require.Zero(t, scalable)
	}
}

package explain

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/target"
)

// TestOccupancy_IsThatOfCUDA compares the blocks of a multiprocessor with those of NVIDIA's occupancy calculator, the
// header cuda_occupancy.h, for every compute capability and many sizes.
func TestOccupancy_IsThatOfCUDA(t *testing.T) {
	const installed = "../../build/.cache/venv/lib/python3*/site-packages/nvidia/cu13/include/cuda_occupancy.h"
	headers, err := filepath.Glob(installed)
	require.NoError(t, err)
	if len(headers) == 0 {
		require.Empty(t, os.Getenv("CI"), "there is no cuda_occupancy.h")
		t.Skip("there is no cuda_occupancy.h: build/scripts/deps.sh installs the wheel nvidia-cuda-runtime")
	}
	cc := strings.Fields(os.Getenv("CC"))
	if len(cc) == 0 {
		cc = []string{"cc"}
	}
	program := filepath.Join(t.TempDir(), "occupancy")
	args := append(cc[1:], "-I", filepath.Dir(headers[0]), "testdata/occupancy.c", "-o", program)
	out, err := exec.Command(cc[0], args...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	var cases bytes.Buffer
	var ours []*Occupancy
	for _, sm := range Capabilities() {
		m := multiprocessors[sm]
		for _, threads := range []int64{1, 32, 33, 64, 96, 128, 160, 192, 224, 256, 320, 352, 512, 544, 672, 768, 1024} {
			for registers := int64(8); registers <= 256; registers += 8 {
				for _, shared := range []int64{0, 1, 1000, 5 * kib, 20*kib + 128, 48 * kib, 64 * kib, 100 * kib, 200 * kib} {
					fmt.Fprintln(&cases, sm/10, sm%10, m.warps*warpThreads, m.shared, target.SharedPerBlock(sm), m.reserved,
						threads, registers-registers/256, shared)
					ours = append(ours, occupancy(sm, threads, registers-registers/256, shared))
				}
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(cases.String()), "\n")
	run := exec.Command(program)
	run.Stdin = &cases
	out, err = run.Output()
	require.NoError(t, err)
	theirs := strings.Fields(string(out))
	require.Len(t, theirs, len(ours))
	for i, o := range ours {
		if fmt.Sprint(o.Blocks) != theirs[i] {
			t.Fatalf("of %s (major, minor, threads and shared memory of a multiprocessor, shared memory of a block, "+
				"reserved; threads, registers, shared memory): %d blocks, CUDA has %s", lines[i], o.Blocks, theirs[i])
		}
	}
}

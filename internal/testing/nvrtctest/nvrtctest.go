// Package nvrtctest gives tests the CUDA compilers that build/scripts/deps.sh installs: NVRTC and ptxas, and the
// disassembler nvdisasm. They need no GPU.
package nvrtctest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/nvrtc"
	"tvmgo/internal/testing/must"
)

// environment returns the virtual environment of the tests, build/.cache/venv in a parent of the working folder; "" if
// there is none.
func environment() string {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		venv := filepath.Join(dir, "build", ".cache", "venv")
		if _, err := os.Stat(venv); err == nil {
			return venv
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

// Need returns an NVRTC: the one that TVMGO_NVRTC names, else the one in the tests' virtual environment, for which it
// sets TVMGO_NVRTC in this process, else one of the machine. If there is none, the test is skipped; on CI it fails.
func Need(t testing.TB) *nvrtc.Compiler {
	t.Helper()
	if os.Getenv(nvrtc.Variable) == "" {
		if found, _ := filepath.Glob(filepath.Join(environment(), wheel, "lib", "libnvrtc.so*")); len(found) > 0 &&
			environment() != "" {
			os.Setenv(nvrtc.Variable, environment())
		}
	}
	c, err := nvrtc.Find()
	if err != nil {
		lacks(t, err)
	}
	return c
}

// NeedHeaders is Need for code that includes CUDA headers, which not every machine with NVRTC has.
func NeedHeaders(t testing.TB) *nvrtc.Compiler {
	t.Helper()
	c := Need(t)
	if len(c.IncludeDirs()) == 0 {
		lacks(t, fmt.Errorf("there are no CUDA headers beside %s", c.Path()))
	}
	return c
}

// wheel is the folder of the CUDA 13 wheels in a virtual environment.
const wheel = "lib/python3*/site-packages/nvidia/cu13"

func lacks(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%v (sh build/scripts/deps.sh installs it)", err)
	}
	t.Skipf("%v (sh build/scripts/deps.sh installs it)", err)
}

// Ptxas assembles PTX for an architecture. The test fails if ptxas reports an error. If there is no ptxas, the test is
// skipped; on CI it fails.
func Ptxas(t testing.TB, ptx []byte, arch string) (cubin []byte) {
	t.Helper()
	cubin = must.Get(Assemble(t, ptx, arch))(t)
	return cubin
}

// Assemble is Ptxas, but returns the error that ptxas reports.
func Assemble(t testing.TB, ptx []byte, arch string) ([]byte, error) {
	t.Helper()
	tool := program(t, "ptxas")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
	// Modules end with a zero byte, which ptxas rejects.
	require.NoError(t, os.WriteFile(in, bytes.TrimRight(ptx, "\x00"), 0o600))
	output, err := exec.Command(tool, "-arch="+arch, in, "-o", out).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ptxas -arch=%s: %w: %s", arch, err, strings.ReplaceAll(string(output), dir+"/", ""))
	}
	return must.Get(os.ReadFile(out))(t), nil
}

// program returns the path of a program of the wheels, or of the machine. If there is none, the test is skipped; on CI
// it fails.
func program(t testing.TB, name string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(environment(), wheel, "bin", name))
	if len(found) > 0 && environment() != "" {
		return found[0]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		lacks(t, err)
	}
	return path
}

// Package spirvtest checks SPIR-V that was generated with the Khronos validator, spirv-val.
package spirvtest

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// environments are the versions of Vulkan whose rules apply to a version of SPIR-V.
var environments = map[byte]string{0: "vulkan1.0", 1: "vulkan1.1", 2: "vulkan1.1", 3: "vulkan1.1", 4: "vulkan1.1spv1.4",
	5: "vulkan1.2", 6: "vulkan1.3"}

// valid has the hashes of modules that were found to be valid.
var valid sync.Map

// Validate checks one SPIR-V module by the rules of the oldest Vulkan version that accepts its SPIR-V version. Without
// spirv-val it checks nothing; on CI that is a failure.
func Validate(t testing.TB, code []byte) {
	t.Helper()
	hash := sha256.Sum256(code)
	if _, ok := valid.Load(hash); ok {
		return
	}
	tool, err := find("spirv-val")
	if err == nil && tooNew(code, tool) {
		err = exec.ErrNotFound
	}
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "spirv-val is missing: install spirv-tools, and run build/scripts/deps.sh")
		return
	}
	require.Greater(t, len(code), 8)
	cmd := exec.Command(tool, "--target-env", environments[code[5]], "-")
	cmd.Stdin = bytes.NewReader(code)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("spirv-val: %v: %s\n%s", err, out, Disassemble(t, code))
	}
	valid.Store(hash, true)
}

// find returns the path of a tool: of the pinned version, which build/scripts/deps.sh installs, or of the system, which
// may be older than some instructions.
func find(tool string) (string, error) {
	for dir := "."; ; dir = filepath.Join("..", dir) {
		pinned, _ := filepath.Glob(filepath.Join(dir, "build/.cache/spirv-tools/cmeel.prefix/bin", tool))
		if len(pinned) > 0 {
			return filepath.Abs(pinned[0])
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || len(dir) > 60 {
			return exec.LookPath(tool)
		}
	}
}

// tooNew reports whether a module has instructions that a tool of the system may not know.
func tooNew(code []byte, tool string) bool {
	return !strings.Contains(tool, "cmeel.prefix") && bytes.Contains(code, []byte("SPV_KHR_cooperative_matrix"))
}

// Disassemble returns a module as spirv-dis prints it; "" without that tool.
func Disassemble(t testing.TB, code []byte) string {
	t.Helper()
	tool, err := find("spirv-dis")
	if err != nil || tooNew(code, tool) {
		return ""
	}
	cmd := exec.Command(tool, "--no-color", "-")
	cmd.Stdin = bytes.NewReader(code)
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// Shaders returns the payload of a module of kind vulkan.
func Shaders(t testing.TB, m *runtime.Module) *blob.VulkanModule {
	t.Helper()
	data := must.Get(m.SaveToBinary())(t)
	return must.Get(blob.ParseVulkanModule(data, blob.Modern))(t)
}

// ValidateModule checks all shaders of a module of kind vulkan.
func ValidateModule(t testing.TB, m *runtime.Module) {
	t.Helper()
	for _, s := range Shaders(t, m).Shaders {
		Validate(t, s.Code)
	}
}

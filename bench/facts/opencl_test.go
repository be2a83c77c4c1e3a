//go:build cuda && opencl

package facts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// loader builds the loader of testdata/opencl.c, which adds the extensions of vendors to the devices.
func loader(t *testing.T) string {
	t.Helper()
	opened(t, dlpack.OpenCL) // else the test is skipped
	must.Get(os.ReadFile("testdata/opencl.c"))(t)
	path := filepath.Join(t.TempDir(), "libOpenCL.so.1")
	out, err := exec.Command("cc", "-shared", "-fPIC", "-Wall", "-Werror", "testdata/opencl.c", "-o", path,
		"-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// Extensions of OpenCL report the size of subgroups, registers, the PCI address and the UUID.
func TestOpenCL_Extensions(t *testing.T) {
	const uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
	for vendor, want := range map[string]map[string]any{
		"nvidia":  {SubgroupSize: int64(32), RegistersLimit: int64(65536), PCIAddress: "0001:65:02.1", UUID: nil},
		"amd":     {SubgroupSize: int64(64), RegistersLimit: nil, PCIAddress: "0000:c1:02.1", UUID: nil},
		"intel":   {SubgroupSize: int64(16), RegistersLimit: nil, PCIAddress: nil, UUID: nil},
		"several": {SubgroupSize: nil, RegistersLimit: nil, PCIAddress: nil, UUID: nil},
		"khronos": {SubgroupSize: nil, RegistersLimit: nil, PCIAddress: "0002:0b:00.0", UUID: uuid},
		"fails":   {SubgroupSize: nil, RegistersLimit: nil, PCIAddress: nil, UUID: nil},
		"none":    {SubgroupSize: nil, RegistersLimit: nil, PCIAddress: nil, UUID: nil},
	} {
		t.Run(vendor, func(t *testing.T) {
			var env []string
			if os.Getenv(childVariable) == "" {
				env = []string{"TVMGO_OPENCL_LIBRARY=" + loader(t), "FACTS_TEST_VENDOR=" + vendor}
			}
			if !inChild(t, env...) {
				return
			}
			d := must.Get(Open(dlpack.Device{Type: dlpack.OpenCL}))(t)
			known(t, device, d.Facts)
			for name, value := range want {
				require.Equal(t, value, d.Facts[name], name)
			}
		})
	}
}

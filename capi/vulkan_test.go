package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
)

// vulkan returns an environment with two devices: the same one twice if there is only one. Without a driver the test is
// skipped; on CI it fails.
func vulkan(t *testing.T, _ *lab) []string {
	t.Helper()
	machine.NeedNative(t, "the drivers of this machine are for x86-64")
	drivers, _ := filepath.Glob("/usr/share/vulkan/icd.d/*.json")
	if len(drivers) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("mesa-vulkan-drivers is not installed")
		}
		t.Skip("there is no Vulkan driver: mesa-vulkan-drivers, libvulkan1")
	}
	return []string{"TVMGO_VULKAN_DEVICE_TWICE=1"}
}

// Vulkan through the device table. The program's signal handlers are kept, and a child of fork cannot use devices that
// its parent has opened.
func TestVulkan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	env := vulkan(t, l)
	program := l.compile(t, "vulkan_test", "gpu_test.c", append(l.linked(), "-DVULKAN")...)
	for _, what := range []string{"table", "signals", "defaults", "fork", "fork-meanwhile"} {
		t.Run(what, func(t *testing.T) { l.runOK(t, env, program, what) })
	}
}

// If there is no loader or driver, the errors say so, and everything else works.
func TestVulkan_Absent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	vulkan(t, l)
	program := l.compile(t, "vulkan_absent_test", "gpu_test.c", append(l.linked(), "-DVULKAN")...)
	for _, c := range []struct{ env, want string }{
		{"TVMGO_VULKAN_LIBRARY=/nowhere/libvulkan.so.1", "Vulkan is not usable: /nowhere/libvulkan.so.1: cannot open"},
		{"TVMGO_VULKAN_LIBRARY=libm.so.6", "has no function vkGetInstanceProcAddr"},
		{"VK_DRIVER_FILES=/nowhere.json VK_ICD_FILENAMES=/nowhere.json", "finds no Vulkan driver: open /nowhere.json: " +
			"no such file or directory"},
	} {
		t.Run(c.env, func(t *testing.T) {
			r := l.run(t, strings.Fields(c.env), program, "absent")
			require.True(t, r.ok && strings.HasSuffix(r.out, "\nok\n"), r.out)
			require.Equal(t, 2, strings.Count(r.out, c.want), "every call reports the error:\n%s", r.out)
		})
	}
}

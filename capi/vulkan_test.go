package main_test

import (
	"os"
	"path/filepath"
	"testing"
)

// vulkan is an environment with two devices, the same one twice where there is one; without a driver the test is skipped, on CI it
// fails.
func vulkan(t *testing.T, _ *lab) []string {
	t.Helper()
	drivers, _ := filepath.Glob("/usr/share/vulkan/icd.d/*.json")
	if len(drivers) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("mesa-vulkan-drivers is not installed")
		}
		t.Skip("there is no Vulkan driver: mesa-vulkan-drivers, libvulkan1")
	}
	return []string{"TVMGO_VULKAN_DEVICE_TWICE=1"}
}

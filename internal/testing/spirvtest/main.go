package spirvtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tvmgo/runtime/vulkan"
)

// Main runs the tests of a package that builds kernels and runs them on devices, and exits. Nothing is cached, PoCL has
// its device with threads, and messages of Vulkan's validation layer are a failure. The user's POCL_DEVICES and
// TVMGO_VULKAN_VALIDATION have precedence.
func Main(m *testing.M) {
	os.Setenv("TVMGO_CACHE_DIR", "off")
	if os.Getenv("POCL_DEVICES") == "" {
		os.Setenv("POCL_DEVICES", "pthread")
	}
	if _, set := os.LookupEnv("TVMGO_VULKAN_VALIDATION"); !set {
		os.Setenv("TVMGO_VULKAN_VALIDATION", "1")
	}
	rc := m.Run()
	if messages := vulkan.Loaded().Messages; len(messages) > 0 {
		fmt.Printf("--- FAIL: validation has %d messages\n%s\n", len(messages), strings.Join(messages, "\n"))
		rc = 1
	}
	os.Exit(rc)
}

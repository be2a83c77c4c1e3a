package vulkan_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/runtime"
	"tvmgo/runtime/vulkan"
)

var (
	first  = dlpack.Device{Type: dlpack.Vulkan}
	second = dlpack.Device{Type: dlpack.Vulkan, ID: 1}
)

// messagesWanted is the variable of a test that makes mistakes which validation must report.
const messagesWanted = "TVMGO_TEST_MISTAKE"

// The tests run with two devices and with the validation layer, which must not have reported any message at the end.
func TestMain(m *testing.M) {
	for _, v := range []string{"TVMGO_VULKAN_DEVICE_TWICE", "TVMGO_VULKAN_VALIDATION"} {
		if _, set := os.LookupEnv(v); !set {
			os.Setenv(v, "1")
		}
	}
	dir, err := os.MkdirTemp("", "vulkan-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("TVMGO_CACHE_DIR") == "" {
		os.Setenv("TVMGO_CACHE_DIR", dir)
	}
	rc := m.Run()
	os.RemoveAll(dir)
	if messages := vulkan.Loaded().Messages; len(messages) > 0 && os.Getenv(messagesWanted) == "" {
		fmt.Printf("--- FAIL: validation has %d messages\n", len(messages))
		for _, m := range messages {
			fmt.Println(m)
		}
		rc = 1
	}
	os.Exit(rc)
}

// needSources skips a test that compiles a file of this repository if the file or a compiler is missing. On CI, that is
// a failure.
func needSources(t *testing.T, file string) {
	t.Helper()
	_, err := os.Stat(file)
	if err == nil && !gputest.HasCompiler(t) {
		err = errors.New("there is no C compiler")
	}
	if err != nil {
		require.Empty(t, os.Getenv("CI"), err)
		t.Skip(err)
	}
}

// need skips a test without Vulkan devices. On CI, that is a failure.
func need(t testing.TB) {
	t.Helper()
	if runtime.DeviceExists(second) {
		return
	}
	gputest.Missing(t, dlpack.Vulkan, "there are no two Vulkan devices")
}

// noLeaks checks that a test releases all its objects and device memory.
func noLeaks(t *testing.T) {
	t.Helper()
	gputest.NoLeaks(t, []dlpack.Device{first, second})
}

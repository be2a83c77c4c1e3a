package spirv_test

import (
	"fmt"
	"os"
	"testing"

	_ "tvmgo/codegen/spirv"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/runtime"
	"tvmgo/runtime/vulkan"
	"tvmgo/target"
)

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
	os.Setenv("TVMGO_CACHE_DIR", dir)
	rc := m.Run()
	os.RemoveAll(dir)
	if messages := vulkan.Loaded().Messages; len(messages) > 0 {
		fmt.Printf("--- FAIL: validation has %d messages\n", len(messages))
		for _, m := range messages {
			fmt.Println(m)
		}
		rc = 1
	}
	os.Exit(rc)
}

var devices = []dlpack.Device{{Type: dlpack.Vulkan}, {Type: dlpack.Vulkan, ID: 1}}

func need(t testing.TB) {
	t.Helper()
	if !runtime.DeviceExists(devices[1]) {
		gputest.Missing(t, dlpack.Vulkan, "there are no two Vulkan devices")
	}
}

// features are options of a target that computes with all types but float16.
const features = `"supports_int8": true, "supports_int16": true, "supports_int64": true, "supports_float64": true,
	"supports_8bit_buffer": true, "supports_16bit_buffer": true, "max_shared_memory_per_block": 32768`

// halves are the options of a target that computes with float16, too.
const halves = `"supports_float16": true, "supports_float16_rte": true, ` + features

func device(t testing.TB, source string) *target.Target {
	t.Helper()
	return must.Get(target.New(source))(t)
}

// vkTarget is the target of the tests: Vulkan with all types, and C for the host.
func vkTarget(t testing.TB, options ...string) *target.Target {
	text := `{"kind": "vulkan", "host": {"kind": "c"}, ` + features
	for _, o := range options {
		text += fmt.Sprintf(", %q: true", o)
	}
	return device(t, text+"}")
}

var harness = gpuprograms.Harness{Kind: "vulkan", Devices: devices, Need: need, Target: vkTarget, Alignment: 16,
	Check: spirvtest.ValidateModule}

func TestRun(t *testing.T) { harness.Run(t) }

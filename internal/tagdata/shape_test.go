package tagdata

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The options of the kinds that tags have, by the Go type of the value.
var (
	everywhere = options(`kind string, keys list, device string, model string, libs list, host object`)
	ofKind     = map[string]map[string]string{
		"llvm": options(`mattr list, mcpu string, mtriple string, mfloat-abi string, mabi string, num-cores int, fast-math
			int,
			opt-level int, cl-opt list, jit string, vector-width int, system-lib bool`),
		"cuda": options(`mcpu string, arch string, max_shared_memory_per_block int, max_threads_per_block int,
			thread_warp_size int,
			registers_per_block int, l2_cache_size_bytes int, max_num_threads int`),
		"rocm": options(`mcpu string, mtriple string, mattr list, max_num_threads int, max_threads_per_block int,
			max_shared_memory_per_block int, thread_warp_size int`),
		"opencl": options(`max_threads_per_block int, max_shared_memory_per_block int, max_num_threads int, thread_warp_size
			int,
			texture_spatial_limit int, max_function_args int, texture_depth_limit int, image_base_address_alignment int`),
		"metal": options(`max_num_threads int, max_threads_per_block int, max_shared_memory_per_block int, thread_warp_size
			int,
			max_function_args int`),
		"vulkan": options(`max_num_threads int, max_threads_per_block int, thread_warp_size int, max_shared_memory_per_block
			int`),
		"hexagon": options(`mattr list, mcpu string, mtriple string, llvm-options list, num-cores int, vtcm-capacity int`),
		"trn": options(`partition_size int, max_sbuf_size_per_partition int, max_psum_size_per_partition int, num-cores
			int`),
	}
)

func options(text string) map[string]string {
	all := map[string]string{}
	for option := range strings.SplitSeq(text, ",") {
		f := strings.Fields(option)
		all[f[0]] = f[1]
	}
	return all
}

// misshapen says what is wrong with a config.
func misshapen(config map[string]any) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	kind, _ := config["kind"].(string)
	known := ofKind[kind]
	if known == nil {
		say("its kind is %v", config["kind"])
		return wrong
	}
	for name, value := range config {
		want := known[name]
		if want == "" {
			want = everywhere[name]
		}
		var is string
		switch value := value.(type) {
		case string:
			is = "string"
			if value == "" {
				say("%s is empty", name)
			}
		case bool:
			is = "bool"
		case int64:
			is = "int"
			if value <= 0 {
				say("%s is %d", name, value)
			}
		case []any:
			is = "list"
			for _, v := range value {
				if s, ok := v.(string); !ok || s == "" {
					say("%s has the element %v", name, v)
				}
			}
		case map[string]any:
			is = "object"
			for _, w := range misshapen(value) {
				say("%s: %s", name, w)
			}
			if value["kind"] != "llvm" || value["host"] != nil {
				say("%s is no CPU: %v", name, value)
			}
		}
		switch {
		case want == "":
			say("kind %s has no option %s", kind, name)
		case is != want:
			say("%s is a %T, no %s", name, value, want)
		}
	}
	for option, pattern := range map[string]string{"cuda arch": `^sm_\d{2,3}a?$`, "rocm mcpu": `^gfx[0-9a-f]{3,4}$`} {
		k, name, _ := strings.Cut(option, " ")
		value, _ := config[name].(string)
		if kind == k && !regexp.MustCompile(pattern).MatchString(value) {
			say("%s is %q", name, value)
		}
	}
	return wrong
}

func TestAll_Shape(t *testing.T) {
	for _, tag := range all(t) {
		for _, w := range misshapen(tag.Config) {
			t.Errorf("%s: %s", tag.Name, w)
		}
		for _, name := range append(tag.Aliases, tag.Name) {
			require.Regexp(t, `^[a-z][a-z0-9-]*(/[a-z0-9][a-z0-9.,-]*)+$`, name)
		}
	}
}

func TestMisshapen_SeesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                "its kind is <nil>",
		`{"kind": "cpu"}`:                   "its kind is cpu",
		`{"kind": "llvm", "cpu": "x"}`:      "kind llvm has no option cpu",
		`{"kind": "llvm", "mcpu": 1}`:       "mcpu is a int64, no string",
		`{"kind": "llvm", "num-cores": 0}`:  "num-cores is 0",
		`{"kind": "llvm", "mattr": [1]}`:    "mattr has the element 1",
		`{"kind": "llvm", "mcpu": ""}`:      "mcpu is empty",
		`{"kind": "cuda"}`:                  `arch is ""`,
		`{"kind": "rocm", "mcpu": "mi200"}`: `mcpu is "mi200"`,
		`{"kind": "llvm", "host": {"kind": "llvm", "arch": "a"}}`: "host: kind llvm has no option arch",
		`{"kind": "llvm", "host": {"kind": "trn"}}`:               "host is no CPU: map[kind:trn]",
	} {
		config, err := parseConfig(text)
		require.NoError(t, err)
		require.Equal(t, []string{want}, misshapen(config), text)
	}
}

package target_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// kindRow is a row of docs/abi.md F.2. Options are "name type" or "name type=default", separated by semicolons.
type kindRow struct {
	name    string
	device  dlpack.DeviceType
	keys    string // separated by spaces
	options string
	only    string // the generation that has it: "" both, "classic", or "modern"
}

// everyKind lists the options that each kind has, in their order.
const everyKind = `kind str; keys []str; tag str; device str; model str; libs []str; host Target; from_device int;
	target_device_type int`

var kindRows = []kindRow{
	{"llvm", 1, "cpu", `alias-check bool; bounds-check bool; mattr []str; mcpu str; mtriple str; mfloat-abi str;
		mabi str; num-cores int; fast-math bool; fast-math-nnan bool;
		fast-math-ninf bool; fast-math-nsz bool; fast-math-arcp bool; fast-math-contract bool; fast-math-reassoc bool;
			opt-level int;
		cl-opt []str; jit str; vector-width int; system-lib bool`, ""},
	{"c", 1, "cpu", `alias-check bool; bounds-check bool; mcpu str; march str; mattr []str;
		workspace-byte-alignment int; constants-byte-alignment int; system-lib bool`, ""},
	{"cuda", 2, "cuda gpu", `alias-check bool; bounds-check bool; mcpu str; arch str;
		code-format str; max_shared_memory_per_block int; max_threads_per_block int;
		thread_warp_size int=32;
		registers_per_block int; l2_cache_size_bytes int; max_num_threads int=1024`, ""},
	{"nvptx", 2, "cuda gpu", `alias-check bool; bounds-check bool; mcpu str; mtriple str=nvptx64-nvidia-cuda;
		max_num_threads int=1024;
		thread_warp_size int=32`, ""},
	{"rocm", 10, "rocm gpu", `mcpu str; mtriple str=amdgcn-amd-amdhsa-hcc; mattr []str; max_num_threads int=256;
		max_threads_per_block int=256;
		max_shared_memory_per_block int=65536; thread_warp_size int=64`, ""},
	{"opencl", 4, "opencl gpu", `alias-check bool; bounds-check bool; max_threads_per_block int=256;
		max_shared_memory_per_block int=16384; max_num_threads int=256;
		thread_warp_size int=1; texture_spatial_limit int=16384; max_function_args int=128; texture_depth_limit int=2048;
		image_base_address_alignment int=64; device_type str; extensions []str`, ""},
	{"metal", 8, "metal gpu", `max_num_threads int=256; max_threads_per_block int=256;
		max_shared_memory_per_block int=32768;
		thread_warp_size int=16; max_function_args int=31`, ""},
	{"vulkan", 7, "vulkan gpu", `alias-check bool; bounds-check bool; mattr []str; supports_float16 bool;
		supports_float32 bool=true; supports_float64 bool;
		supports_int8 bool;
		supports_int16 bool; supports_int32 bool=true; supports_int64 bool; supports_8bit_buffer bool;
			supports_16bit_buffer bool;
		supports_storage_buffer_storage_class bool; supports_push_descriptor bool; supports_dedicated_allocation bool;
		supports_integer_dot_product bool; supports_cooperative_matrix bool; supports_float16_rte bool;
		supports_bfloat16 bool; supported_subgroup_operations int;
			max_num_threads int=256;
		max_threads_per_block int=256; thread_warp_size int=1; max_block_size_x int; max_block_size_y int;
			max_block_size_z int;
		max_push_constants_size int; max_uniform_buffer_range int; max_storage_buffer_range int;
		max_per_stage_descriptor_storage_buffer int; max_shared_memory_per_block int; device_type str; device_name str;
		driver_name str; driver_version int; vulkan_api_version int; max_spirv_version int`, ""},
	{"webgpu", 15, "webgpu gpu", `max_num_threads int=256; max_shared_memory_per_block int=32768;
		supports_subgroups bool=false;
		thread_warp_size int=1`, ""},
	{"hexagon", 16, "hexagon cpu",
		`mattr []str; mcpu str; mtriple str; llvm-options []str; num-cores int; vtcm-capacity int`, ""},
	{"trn", 18, "", `partition_size int; max_sbuf_size_per_partition int; max_psum_size_per_partition int; num-cores int`,
		"modern"},
	{"ext_dev", 12, "", "", ""},
	{"composite", 1, "", `devices []Target`, ""},
	{"test", 1, "", "", ""},
	{"cuda_host", 1, "cpu", "", "modern"},
	{"sdaccel", 4, "sdaccel hls", "", "classic"},
	{"aocl", 32, "aocl hls", "", "classic"},
	{"aocl_sw_emu", 32, "aocl hls", "", "classic"},
	{"stackvm", 1, "cpu", "", "classic"},
	{"hybrid", 1, "", "", "classic"},
}

type optionRow struct {
	name, typ string
	def       any // nil: none
}

func (k kindRow) rows(t testing.TB) []optionRow { return optionRows(t, k.options) }

func optionRows(t testing.TB, text string) []optionRow {
	var rows []optionRow
	for part := range strings.SplitSeq(text, ";") {
		name, rest, ok := strings.Cut(strings.TrimSpace(part), " ")
		if !ok {
			require.Empty(t, name)
			continue
		}
		typ, def, hasDefault := strings.Cut(rest, "=")
		row := optionRow{name: name, typ: typ}
		switch {
		case hasDefault && typ == "int":
			n := must.Get(strconv.ParseInt(def, 10, 64))(t)
			row.def = n
		case hasDefault && typ == "str":
			row.def = def
		case hasDefault:
			require.Equal(t, "bool", typ)
			row.def = def == "true"
		}
		rows = append(rows, row)
	}
	return rows
}

var optionTypes = map[string]target.Type{"int": target.Int, "bool": target.Bool, "str": target.String,
	"Target": target.Nested,
	"[]str":  target.ListOf(target.String), "[]Target": target.ListOf(target.Nested)}

func TestKinds_Table(t *testing.T) {
	for _, row := range kindRows {
		t.Run(row.name, func(t *testing.T) {
			k := must.Get(target.LookupKind(row.name))(t)
			require.Equal(t, row.name, k.Name())
			require.Equal(t, row.device, k.DeviceType())
			require.Equal(t, strings.Fields(row.keys), append([]string{}, k.DefaultKeys()...))
			require.Equal(t, row.name == "composite", k.IsComposite())

			want := map[string]optionRow{}
			for i, o := range append(optionRows(t, everyKind), row.rows(t)...) {
				want[o.name] = o
				if i < 9 {
					require.Equal(t, o.name, k.Options()[i].Name, "the order of the options that every kind has")
				}
			}
			for _, o := range k.Options() {
				w, ok := want[o.Name]
				require.True(t, ok, "option %q is not in the table", o.Name)
				require.Equal(t, optionTypes[w.typ], o.Type, o.Name)
				require.Equal(t, w.def, o.Default, o.Name)
				delete(want, o.Name)
			}
			require.Empty(t, want, "options that the kind lacks")
		})
	}
}

// TestKinds_NothingGiven checks targets for which only the kind is given.
func TestKinds_NothingGiven(t *testing.T) {
	quiet(t)
	derived := map[string]map[string]any{ // attributes that parsers set
		"cuda":  {"arch": "sm_50"},
		"nvptx": {"mcpu": "sm_50", "mtriple": "nvptx64-nvidia-cuda"},
		"rocm":  {"mcpu": "gfx900", "mtriple": "amdgcn-amd-amdhsa-hcc"},
		"test":  {"feature.is_test": true},
	}
	warns := map[string]bool{"cuda": true, "nvptx": true, "rocm": true}
	for _, row := range kindRows {
		got := must.Get(target.New(row.name))(t)
		want := map[string]any{}
		for _, o := range row.rows(t) {
			if o.def != nil {
				want[o.name] = o.def
			}
		}
		maps.Copy(want, derived[row.name])
		attrs := got.Attrs()
		if row.name == "llvm" { // these describe this machine
			require.Contains(t, attrs["mtriple"], "-")
			delete(attrs, "mtriple")
			for name := range got.Features() {
				delete(attrs, "feature."+name)
				row.keys = "arm_cpu cpu" // other machines have no features
			}
		}
		require.Equal(t, want, attrs, row.name)
		require.Equal(t, row.name, got.Kind().Name())
		require.Equal(t, strings.Fields(row.keys), got.Keys(), row.name)
		require.Equal(t, row.device, got.DeviceType(), row.name)
		require.Empty(t, got.Tag())
		require.Nil(t, got.Host())
		require.Equal(t, warns[row.name], len(got.Warnings()) > 0, "%s: %v", row.name, got.Warnings())
	}
}

// TestKinds_EveryOptionIsSetAndRead gives each option a value of its type in the three forms, and values of wrong
// types.
func TestKinds_EveryOptionIsSetAndRead(t *testing.T) {
	quiet(t)
	values := map[string]any{"int": int64(2), "bool": true, "str": "some text", "[]str": []string{"a", "b c"}}
	special := map[string]any{"cuda.arch": "sm_86", "nvptx.mcpu": "sm_86", "nvptx.mtriple": "nvptx64-nvidia-cuda",
		"cuda.code-format": "cubin", "opencl.device_type": "cpu", "rocm.mcpu": "gfx906",
		"rocm.mtriple": "amdgcn-amd-amdhsa-hcc", "llvm.mfloat-abi": "soft", "llvm.jit": "orcjit"}
	wrong := map[string][]any{"int": {true, "2", 1.5, nil, []int{2}, map[string]any{}},
		"bool": {1, 0, "true", nil, []bool{true}},
		"str":  {1, true, nil, []string{"a"}}, "[]str": {1, true, nil, []int{1}, []any{"a", nil}}}
	for _, row := range kindRows {
		for _, o := range row.rows(t) {
			if o.typ == "[]Target" {
				continue
			}
			name := row.name + "." + o.name
			v := values[o.typ]
			if s, ok := special[name]; ok {
				v = s
			}
			config := map[string]any{"kind": row.name, o.name: v}
			if row.name == "webgpu" && o.name == "thread_warp_size" {
				config["supports_subgroups"], v = true, int64(32)
			}
			got, err := target.New(config)
			require.NoError(t, err, name)
			require.Equal(t, v, got.Attrs()[o.name], name)
			for _, form := range []any{got.String(), got.JSON(), got.Export()} {
				again, err := target.New(form)
				require.NoError(t, err, name)
				require.True(t, got.Equal(again), "%s\n%s\n%s", form, got.JSON(), again.JSON())
			}
			for _, bad := range wrong[o.typ] {
				config[o.name] = bad
				_, err := target.New(config)
				require.ErrorIs(t, err, target.ErrType, "%s=%v", name, bad)
				require.ErrorContains(t, err, "$."+o.name, name)
			}
		}
	}
}

// TestKinds_Ranges tests the minimum and the maximum of options, and the values just outside the range.
func TestKinds_Ranges(t *testing.T) {
	quiet(t)
	type row struct {
		kind, option string
		good, bad    []any
	}
	rows := []row{
		{"llvm", "opt-level", []any{0, 3}, []any{-1, 4}},
		{"llvm", "mfloat-abi", []any{"hard", "soft", "softfp"}, []any{"", "hardfp", "Hard"}},
		{"llvm", "jit", []any{"mcjit", "orcjit"}, []any{"", "jit"}},
		{"cuda", "arch", []any{"sm_50", "sm_90a", "sm_100f", "sm_120"},
			[]any{"", "sm_", "sm_9", "sm_9a", "sm_90ab", "sm_1000", "90",
				"compute_90", "SM_90"}},
		{"nvptx", "mcpu", []any{"sm_50", "sm_90a"}, []any{"", "sm_", "sm_9", "gfx906"}},
		{"nvptx", "mtriple", []any{"nvptx64-nvidia-cuda"}, []any{"", "nvptx-nvidia-cuda"}},
		{"rocm", "mcpu", []any{"gfx906", "gfx90a:sramecc+"}, []any{"", "gfx", "agfx906", "mi300x"}},
		{"rocm", "mtriple", []any{"amdgcn-amd-amdhsa-hcc"}, []any{"", "amdgcn"}},
		{"webgpu", "thread_warp_size", []any{1}, []any{0, 2, 32}},
		{"vulkan", "vulkan_api_version", []any{-1, 0, 1 << 40}, nil},
	}
	for _, k := range kindRows {
		rows = append(rows, row{k.name, "target_device_type", []any{1, 35}, []any{0, 36, -1}},
			row{k.name, "from_device", []any{-1,
				1<<31 - 1}, []any{-2, 1 << 31}})
		for _, o := range k.rows(t) {
			switch {
			case o.typ != "int" || o.name == "opt-level" || strings.HasSuffix(o.name, "_version") ||
				k.name == "webgpu" && o.name == "thread_warp_size":
			case o.name == "num-cores" || o.name == "thread_warp_size" || o.name == "vector-width" ||
				strings.HasSuffix(o.name, "-alignment") ||
				o.name == "max_num_threads" || o.name == "max_threads_per_block":
				rows = append(rows, row{k.name, o.name, []any{1, 1 << 40}, []any{0, -1}})
			default:
				rows = append(rows, row{k.name, o.name, []any{0, 1 << 40}, []any{-1}})
			}
		}
	}
	for _, r := range rows {
		for _, v := range r.good {
			_, err := target.New(map[string]any{"kind": r.kind, r.option: v})
			require.NoError(t, err, "%s.%s=%v", r.kind, r.option, v)
		}
		for _, v := range r.bad {
			_, err := target.New(map[string]any{"kind": r.kind, r.option: v})
			require.ErrorIs(t, err, target.ErrRange, "%s.%s=%v", r.kind, r.option, v)
			require.ErrorContains(t, err, "$."+r.option)
		}
	}
}

package target_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wheelCases returns the cases written below and a few hundred random ones from a fixed seed.
func wheelCases(t testing.TB) []wheelCase {
	var all []wheelCase
	for _, x := range writtenCases {
		v, err := plainValue([]byte(x))
		require.NoError(t, err, x)
		all = append(all, wheelCase{given: v})
	}
	for _, x := range hostCases {
		v, err := plainValue([]byte(x))
		require.NoError(t, err, x)
		pair := v.([]any)
		all = append(all, wheelCase{given: pair[0], host: pair[1]})
	}
	g := wheelGenerator{t: t, Rand: rand.New(rand.NewPCG(27, 18))}
	for _, row := range kindRows {
		if row.only == "classic" {
			continue
		}
		for range 40 {
			all = append(all, g.forms(g.config(row, 0))...)
		}
	}
	for range 60 {
		all = append(all, g.forms(g.tagged())...)
	}
	return all
}

// writtenCases are JSON: objects, or strings from which a target is made.
var writtenCases = []string{
	`"cuda"`, `" cuda"`, `"cuda "`, `"Cuda"`, `"cud"`, `""`, `" "`, `"{"`, `"{}"`, `"[1]"`, `"\"cuda\""`, `"-cuda"`,
	`"cuda llvm"`, `"{\"kind\":\"cuda\",\"arch\":\"sm_80\"}"`, `" {\"kind\":\"cuda\",\"arch\":\"sm_80\"} "`,
	`"{\"kind\":\"cuda\"} x"`, `5`, `null`, `[]`, `{}`, `{"kind":5}`, `{"kind":null}`, `{"kind":""}`, `{"kind":"nope"}`,
	`{"kind":["cuda"]}`, `{"keys":["cpu"]}`, `"nvidia/nvidia-h100"`, `"nvidia/nvidia-h100 "`, `"nvidia/h100"`,
	`"nvidia/nope"`,
	`"raspberry-pi/4b-aarch64x"`, `"aws/cpu/c5.large"`, `{"tag":"nvidia/nvidia-h100"}`, `{"tag":"nvidia/h100"}`,
	`{"tag":"nope"}`, `{"tag":""}`, `{"tag":5}`, `{"tag":null}`, `{"tag":"nvidia/nvidia-h100","kind":"metal"}`,
	`{"tag":"nvidia/h100","kind":"cuda"}`, `{"tag":"nope","kind":"metal"}`, `{"kind":"cuda","tag":5}`,
	`{"kind":"cuda","tag":""}`, `{"kind":"cuda","tag":null}`,
	`{"tag":"nvidia/nvidia-h100","thread_warp_size":64,"keys":["mine"],"model":"m"}`,
	`{"tag":"nvidia/nvidia-h100","nope":1}`,
	`{"tag":"nvidia/nvidia-h100","arch":"x"}`, `{"tag":"nvidia/nvidia-h100","device":"d"}`,
	`{"tag":"qcom/adreno-opencl","device":"d"}`, `{"tag":"nvidia/nvidia-h100","host":"c"}`,
	`{"kind":"cuda","host":{"tag":"aws/cpu/c5.large"}}`, `{"kind":"cuda","host":"aws/cpu/c5.large"}`,
	`{"kind":"cuda","keys":[],"device":""}`, `{"kind":"cuda","device":""}`, `{"kind":"cuda","keys":["a"],"device":"a"}`,
	`{"kind":"cuda","keys":["a","b","a"],"device":"b"}`, `{"kind":"cuda","keys":["a","","a"]}`,
	`{"kind":"cuda","keys":[]}`,
	`{"kind":"cuda","device":"gpu"}`, `{"kind":"cuda","device":"x"}`, `{"kind":"cuda","keys":["a"],"device":"x"}`,
	`{"kind":"cuda","keys":"a"}`, `{"kind":"cuda","keys":"a,b"}`, `{"kind":"cuda","keys":[1]}`,
	`{"kind":"cuda","keys":null}`,
	`{"kind":"cuda","libs":"a,b"}`, `{"kind":"cuda","libs":[]}`, `{"kind":"cuda","libs":["a","a",""]}`,
	`{"kind":"cuda","libs":{"a":1}}`, `{"kind":"cuda","model":"a b"}`, `{"kind":"cuda","model":"größer 日本 \"'\\"}`,
	`{"kind":"cuda","model":1}`, `{"kind":"cuda","model":null}`, `{"id":"cuda"}`, `{"id":"cuda","target_host":{"id":"c"}}`,
	`{"kind":"cuda","id":"cuda"}`, `{"kind":"cuda","host":"c","target_host":"c"}`, `{"kind":"cuda","host":5}`,
	`{"kind":"cuda","host":null}`, `{"kind":"cuda","host":[]}`, `{"kind":"cuda","host":"nope"}`,
	`{"kind":"cuda","host":{}}`,
	`{"kind":"cuda","host":{"kind":"c","host":{"kind":"llvm","mcpu":"core2"}}}`, `{"kind":"cuda","host":"cuda"}`,
	`{"kind":"cuda","feature.a":1,"feature.b":"x","feature.c":1.5,"feature.e":true}`, `{"kind":"cuda","feature.a":2.0}`,
	`{"kind":"cuda","feature.d":null}`, `{"kind":"cuda","feature.d":[1]}`, `{"kind":"cuda","feature.d":{}}`,
	`{"kind":"cuda","feature.":1}`, `{"kind":"cuda","feature.a b":1}`, `{"kind":"cuda","features":{}}`,
	`{"kind":"test","feature.is_test":false}`, `{"kind":"test","feature.b":7}`, `{"kind":"cuda","":1}`,
	`{"kind":"cuda","Arch":"sm_80"}`, `{"kind":"cuda","arch ":"sm_80"}`, `{"kind":"cuda","mtriple":"x"}`,
	`{"kind":"nvptx","mtriple":"nvptx64-nvidia-cuda"}`, `{"kind":"nvptx","mtriple":"x"}`, `{"kind":"nvptx","mtriple":""}`,
	`{"kind":"nvptx","mcpu":"sm_75"}`, `{"kind":"nvptx","mcpu":"x"}`, `{"kind":"nvptx","mcpu":""}`,
	`{"kind":"rocm","mtriple":"amdgcn-amd-amdhsa-hcc"}`, `{"kind":"rocm","mtriple":"x"}`,
	`{"kind":"rocm","mcpu":"gfx90a:sramecc+"}`, `{"kind":"rocm","mcpu":"x"}`, `{"kind":"rocm","mcpu":"gfx"}`,
	`{"kind":"rocm","mcpu":""}`, `{"kind":"rocm","mcpu":"agfx906"}`, `{"kind":"webgpu","supports_subgroups":true}`,
	`{"kind":"webgpu","supports_subgroups":true,"thread_warp_size":8}`, `{"kind":"webgpu","thread_warp_size":8}`,
	`{"kind":"webgpu","supports_subgroups":false,"thread_warp_size":1}`, `{"kind":"vulkan","vulkan_api_version":4194304}`,
	`{"kind":"vulkan","vulkan_api_version":4202573}`, `{"kind":"vulkan","vulkan_api_version":4210688}`,
	`{"kind":"vulkan","vulkan_api_version":4206592}`, `{"kind":"vulkan","vulkan_api_version":4198400}`,
	`{"kind":"vulkan","vulkan_api_version":7}`, `{"kind":"vulkan","vulkan_api_version":4194304,"max_spirv_version":66304}`,
	`{"kind":"cuda","target_device_type":4}`, `{"kind":"cuda","target_device_type":0}`,
	`{"kind":"cuda","target_device_type":true}`, `{"kind":"cuda","from_device":-1}`, `{"kind":"cuda","from_device":0}`,
	`{"kind":"cuda","from_device":true}`, `{"kind":"cuda","from_device":"0"}`, `{"kind":"composite"}`,
	`{"kind":"composite","devices":[]}`, `{"kind":"composite","devices":"cuda"}`, `{"kind":"composite","devices":[1]}`,
	`{"kind":"composite","devices":["nope"]}`, `{"kind":"composite","devices":["cuda",{"kind":"c"}]}`,
	`{"kind":"composite","targets":["cuda"]}`,
	`{"kind":"composite","devices":["cuda",{"kind":"metal","host":"llvm"}],"host":"c"}`,
	`{"kind":"composite","devices":[{"kind":"composite","devices":["cuda"]}],"host":"c"}`,
	`{"kind":"composite","devices":["nvidia/nvidia-h100",{"tag":"aws/cpu/c5.large"}]}`,
	`{"kind":"cuda","devices":["cuda"]}`,
	`{"kind":"c","mcpu":"cortex-m7"}`, `{"kind":"c","mcpu":"cortex-m55+nomve","keys":["mine"],"device":"board"}`,
	`{"kind":"c","mcpu":"cortex-m1"}`, `{"kind":"llvm","mtriple":"aarch64-linux-gnu","mattr":["+neon"]}`,
	`{"kind":"llvm","mtriple":"aarch64-linux-gnu","mcpu":"cortex-a53","keys":[]}`, `{"kind":"llvm","mcpu":"cortex-a53"}`,
	`{"kind":"llvm","mtriple":"armv7a-linux-eabi","mcpu":"cortex-a9","device":"arm_cpu"}`,
	`{"kind":"llvm","mtriple":"aarch64-linux-gnu","feature.has_sve":true,"feature.mine":1}`,
	`{"kind":"c","mcpu":"cortex-a53","march":"armv8-a"}`, `{"kind":"vulkan","supports_int8":1}`,
	`{"kind":"llvm","fast-math":0}`, `{"kind":"webgpu","supports_subgroups":2}`, `{"kind":"cuda","max_num_threads":true}`,
	`{"kind":"trn","num-cores":false}`, `{"kind":"cuda","thread_warp_size":32.0}`, `{"kind":"cuda","max_num_threads":1e3}`,
	`{"kind":"cuda","max_num_threads":1.5}`, `{"kind":"cuda","thread_warp_size":"32"}`,
	`{"kind":"cuda","registers_per_block":9223372036854775807}`,
	`{"kind":"cuda","registers_per_block":9223372036854775808}`,
	`{"kind":"llvm","opt-level":4,"mcpu":"core2"}`, `{"kind":"llvm","opt-level":3,"mcpu":"core2"}`,
	`{"kind":"llvm","jit":"jit"}`, `{"kind":"llvm","mfloat-abi":"hardfp"}`, `{"kind":"cuda","arch":"sm_"}`,
	`{"kind":"cuda","arch":"sm_9"}`, `{"kind":"cuda","arch":"sm_90aa"}`,
	`{"kind":"llvm","system-lib":true,"mcpu":"core2"}`,
	`{"kind":"c","system_lib":false}`, `{"kind":"cuda","system-lib":true}`,
}

// hostCases are pairs of a target and a host for it.
var hostCases = []string{
	`[{"kind":"composite","devices":["cuda",{"kind":"metal","host":"ext_dev"},{"kind":"composite",` +
		`"devices":["vulkan"]}]},"c"]`,
	`["cuda","c"]`, `["nvidia/nvidia-h100",{"kind":"c"}]`, `[{"kind":"cuda","host":"llvm"},"c"]`, `["cuda","nope"]`,
	`["nope","c"]`, `[{"kind":"cuda","host":{"kind":"llvm","mcpu":"core2"}},{"kind":"llvm","mtriple":"x86_64-linux-gnu"}]`,
	`["cuda",{"kind":"c","host":"llvm"}]`, `["cuda","{\"kind\":\"c\"}"]`, `["cuda","aws/cpu/c5.large"]`,
	`["nvidia/jetson-orin-nano","llvm"]`,
}

type wheelGenerator struct {
	*rand.Rand
	t testing.TB
}

func pick[T any](g wheelGenerator, from ...T) T { return from[g.IntN(len(from))] }

// chance returns true with a probability of n percent.
func (g wheelGenerator) chance(n int) bool { return g.IntN(100) < n }

// words holds values for options of type str, by kind and option, and by option.
var words = map[string][]string{
	"llvm.mcpu": {"core2", "skylake-avx512", "nonsense", "", "cortex-a72", "cortex-a76", "neoverse-v1", "apple-m1",
		"cortex-m55",
		"cortex-m7+nodsp"},
	"llvm.mtriple": {"x86_64-linux-gnu", "x86_64-unknown-linux-gnu", "riscv64-unknown-linux-gnu", "nonsense", "",
		"aarch64-linux-gnu",
		"aarch64-linux-gnu", "arm64-apple-macos", "armv7l-linux-gnueabihf", "arm-none-eabi", "armv8l-linux-gnueabihf"},
	"nvptx.mcpu": {"sm_70", "sm_70", "sm_90a", "gfx900", "sm_", "sm_9x", ""}, "cuda.mcpu": {"sm_70", "anything"},
	"nvptx.mtriple": {"nvptx64-nvidia-cuda", "nvptx64-nvidia-cuda", "nvptx-nvidia-cuda"},
	"rocm.mcpu":     {"gfx906", "gfx942", "gfx90a:sramecc+:xnack-", "gfx", "mi300x"},
	"rocm.mtriple":  {"amdgcn-amd-amdhsa-hcc", "amdgcn-amd-amdhsa-hcc", "amdgcn"},
	"hexagon.mcpu":  {"hexagonv68", "v75"}, "hexagon.mtriple": {"hexagon"},
	"c.mcpu": {"core2", "nehalem", "cortex-m0", "cortex-m4", "cortex-m7", "cortex-m33+nodsp", "cortex-m55+nomve",
		"cortex-m85",
		"cortex-a72"}, "c.march": {"x86-64-v3", "armv7e-m"},
	"arch":       {"sm_50", "sm_86", "sm_90a", "sm_100f", "sm_90a", "sm_120", "sm_", "sm_x", "90", "compute_90", ""},
	"mfloat-abi": {"hard", "soft", "softfp", "firm"}, "jit": {"mcjit", "orcjit", "ojit"}, "mabi": {"lp64d", "ilp32"},
	"device": {"mali", "gpu", "cpu", "x", ""}, "model": {"1080ti", "a b", "größer", ""},
	"device_type": {"discrete", "integrated"}, "device_name": {"llvmpipe (LLVM 15, 256 bits)"}, "driver_name": {"lavapipe",
		"it's"},
}

func (g wheelGenerator) value(kind string, o optionRow) any {
	if g.chance(4) {
		return pick[any](g, true, int64(1), int64(0), int64(-3), number(1.5), number(32), number(1e9), "32", "text", nil,
			[]any{},
			[]any{int64(1)}, object{})
	}
	switch o.typ {
	case "int":
		return int64(pick(g, 1, 2, 16, 32, 64, 128, 256, 1024, 49152, 65536, 1<<22, 1<<31, 1<<40, 1, 3, 0, -1))
	case "bool":
		return g.chance(50)
	case "[]str":
		if o.name == "mattr" && g.chance(40) {
			return pick[any](g, []any{"+sve"}, []any{"+neon", "+dotprod"}, []any{"-neon"}, []any{"+v8.2a", "+fullfp16", "+i8mm"},
				[]any{"+sme", "-sve"},
				"+neon,+sve2", []any{"+mve", "+dsp"})
		}
		if o.name == "cl-opt" { // the wheel passes them to LLVM on Arm
			return pick[any](g, []any{"-unroll-threshold:uint=100"}, []any{}, "-unroll-threshold:uint=100")
		}
		return pick[any](g, []any{"+avx2"}, []any{"+avx2", "-sse4.1"}, []any{}, []any{"a b", ""}, "+a,+b", "+a", "")
	}
	from := words[kind+"."+o.name]
	if from == nil {
		from = words[o.name]
	}
	require.NotEmpty(g.t, from, "%s.%s", kind, o.name)
	return pick(g, from...)
}

// onlyHere reports whether Apache TVM lacks an option of a kind.
func onlyHere(kind, option string) bool {
	lists := map[string][]string{"c": {"mattr"}, "opencl": {"device_type", "extensions"},
		"vulkan": {"supports_float16_rte", "supports_bfloat16"}}
	return slices.Contains([]string{"alias-check", "bounds-check", "code-format"}, option) ||
		slices.Contains(lists[kind], option)
}

// config returns a random configuration of a kind.
func (g wheelGenerator) config(row kindRow, depth int) object {
	o := object{"kind": row.name}
	if g.chance(6) {
		o = object{"id": row.name}
	}
	rows := slices.DeleteFunc(row.rows(g.t), func(r optionRow) bool { return onlyHere(row.name, r.name) })
	g.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for _, r := range rows[:g.IntN(min(len(rows), 5)+1)] {
		if r.typ == "[]Target" {
			members := []any{}
			for range g.IntN(3) {
				members = append(members, g.nested(depth+1))
			}
			o[pick(g, "devices", "devices", "targets")] = members
			continue
		}
		o[r.name] = g.value(row.name, r)
	}
	for _, name := range []string{"device", "model"} {
		if g.chance(20) {
			o[name] = g.value(row.name, optionRow{name: name, typ: "str"})
		}
	}
	if g.chance(25) {
		o["keys"] = pick[any](g, []any{"a"}, []any{"cpu", "gpu"}, []any{"a", "b", "a"}, []any{},
			[]any{"mali", "opencl", "gpu"},
			[]any{"a", ""}, "a,b")
	}
	if g.chance(15) {
		o["libs"] = pick[any](g, []any{"cudnn"}, []any{"cudnn", "cublas"}, []any{}, "cudnn,cublas")
	}
	if g.chance(8) {
		o["target_device_type"] = int64(pick(g, 1, 2, 4, 15, 35, 36, 0, -1))
	}
	if g.chance(6) {
		o["from_device"] = int64(pick(g, -1, -1, 0, -2))
	}
	if g.chance(6) {
		o["tag"] = pick(g, "mine", "nvidia/nvidia-h100", "nvidia/h100", "a b", "")
	}
	if g.chance(12) {
		o["feature."+pick(g, "has_sve", "has_dsp", "is_aarch64", "a", "x.y", "a-b", "a b")] = pick[any](g, true, false,
			int64(7),
			int64(-1), number(2.5), number(3), "x", "", []any{int64(1)})
	}
	if g.chance(4) {
		o[pick(g, "nope", "Kind", "archs", "max_threads")] = int64(1)
	}
	if g.chance(20) && depth < 3 {
		o[pick(g, "host", "host", "host", "target_host")] = g.nested(depth + 1)
	}
	return o
}

// nested returns a nested target: an object, the name of a kind, or a tag.
func (g wheelGenerator) nested(depth int) any {
	modern := slices.DeleteFunc(slices.Clone(kindRows), func(r kindRow) bool { return r.only == "classic" })
	switch row := pick(g, modern...); {
	case g.chance(15):
		return pick(g, "nvidia/nvidia-a100", "aws/cpu/c5.xlarge", "nvidia/h100")
	case g.chance(30):
		return row.name
	default:
		return g.config(row, depth)
	}
}

// tagged returns a random configuration that is based on a tag.
func (g wheelGenerator) tagged() object {
	tag := pick(g, "nvidia/nvidia-h100", "nvidia/geforce-rtx-4090", "nvidia/tesla-p40", "qcom/adreno-vulkan",
		"nvidia/h100",
		"apple/m1-gpu-restricted", "apple/m2-gpu",
		"nvidia/jetson-orin-nano", "arm/rasp4b64", "arm/pynq", "raspberry-pi/4b-aarch64", "aws/cpu/c5.24xlarge",
		"qcom/hexagon-v68",
		"aws/trn1/trn1.2xlarge", "riscv/sifive-u54", "riscv/licheepi3a", "qcom/adreno-opencl-texture")
	kind := map[string]string{"nvidia": "cuda", "apple": "metal", "aws": "llvm", "riscv": "llvm", "arm": "llvm",
		"raspberry-pi": "llvm"}[strings.Split(tag, "/")[0]]
	for _, part := range []string{"opencl", "vulkan", "hexagon", "trn"} {
		if strings.Contains(tag, part) {
			kind = part
		}
	}
	i := slices.IndexFunc(kindRows, func(r kindRow) bool { return r.name == kind })
	o := g.config(kindRows[i], 1)
	if !g.chance(15) {
		delete(o, "kind")
		delete(o, "id")
	}
	o["tag"] = tag
	return o
}

// forms returns an object and, sometimes, the same as JSON text or as a command line.
func (g wheelGenerator) forms(o object) []wheelCase {
	all := []wheelCase{{given: o}}
	if g.chance(10) {
		all = append(all, wheelCase{given: asText(o), means: o})
	}
	if s, ok := commandLine(o); ok && g.chance(30) {
		all = append(all, wheelCase{given: s, means: o})
	}
	return all
}

// commandLine writes the command-line form independently of the package, for scalars and lists of words.
func commandLine(o object) (string, bool) {
	kind, ok := o["kind"].(string)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString(kind)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		v := o[name]
		if name == "kind" {
			continue
		}
		if s, isText := v.(string); isText {
			v = []any{s}
		}
		items, isList := v.([]any)
		switch {
		case strings.Contains(name, " "):
			return "", false
		case isList && len(items) > 0:
			var parts []string
			for _, item := range items {
				s, isText := item.(string)
				if !isText || s == "" || strings.ContainsAny(s, ` ,'\`) || strings.HasPrefix(name, "feature.") || s == "32" {
					return "", false
				}
				parts = append(parts, s)
			}
			fmt.Fprintf(&b, " -%s=%s", name, strings.Join(parts, ","))
		case v == true:
			fmt.Fprintf(&b, " --%s", name)
		case v == false:
			fmt.Fprintf(&b, " -%s=false", name)
		default:
			n, isInt := v.(int64)
			if !isInt {
				return "", false
			}
			if n < 0 {
				return "", false
			}
			fmt.Fprintf(&b, "  -%s %d", name, n)
		}
	}
	return b.String(), true
}

package cpufeatures

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/wheel"
)

// question is a target whose features this package and the wheel determine.
type question struct {
	Ask    string   `json:"ask"`
	Kind   string   `json:"kind,omitempty"`
	Triple string   `json:"triple,omitempty"`
	CPU    string   `json:"cpu,omitempty"`
	Attrs  []string `json:"attrs,omitempty"`
}

// ours returns this package's answer in the form of the wheel's JSON.
func (q question) ours() any {
	switch q.Ask {
	case "features":
		set, _ := Features(q.Triple, q.CPU, q.Attrs)
		return strings.Join(set.Names(), " ")
	case "cpus":
		return CPUs(q.Triple)
	case "valid":
		return ValidCPU(q.Triple, q.CPU)
	default:
		has, keys := Arm(q.Triple, q.CPU, q.Attrs), []string{"cpu"}
		if has != nil {
			keys = []string{"arm_cpu", "cpu"}
		} else {
			has = map[string]bool{}
		}
		return map[string]any{"keys": keys, "has": has}
	}
}

var triples = map[string][]string{
	"x86": {"x86_64-unknown-linux-gnu", "i386-unknown-linux-gnu", "i686-pc-windows-msvc", "x86_64-linux-gnux32", "amd64",
		"x86_64h-apple-macos", "i386-pc-none-code16"},
	"aarch64": {"aarch64-unknown-linux-gnu", "aarch64", "arm64-apple-macos", "arm64e-apple-ios", "aarch64_be-linux",
		"arm64_32-apple-watchos",
		"aarch64-pc-windows-msvc", "arm64ec-pc-windows-msvc"},
	"arm": {"armv7a-linux-gnueabihf", "arm-linux-gnueabi", "armv8l-linux", "armv8m.main-none-eabi", "thumbv7em-none-eabi",
		"thumbv8.1m.main-none-eabi",
		"armebv7-linux", "armv6meb-none-eabi", "thumbeb-none", "armv7-pc-windows-msvc", "armv9a-linux", "armv7foo-linux",
		"xscale-linux"},
	"riscv": {"riscv64-unknown-linux-gnu", "riscv32-unknown-elf", "riscv64be-linux", "riscv32be-linux"},
}

var attributes = map[string][][]string{
	"x86": {nil, {"+avx512f"}, {"-sse2"}, {"+avx10.2", "-avx512f"}, {"-avx2", "+avx512bw,-f16c"}, {"avx"},
		{"+AVX2", "+nosuch", "", "-"}, {"-64bit-mode", "+16bit-mode"}},
	"aarch64": {nil, {"+sve"}, {"+dotprod"}, {"+v8.2a"}, {"+v9a"}, {"-neon"}, {"+sve2", "-sve"}, {"+v8.6a,+fullfp16"},
		{"+sme2", "-bf16"}, {"-fp-armv8", "+i8mm"},
		{"sve"}, {"+nosuch", ""}, {"+neon", "+nodsp"}},
	"arm": {nil, {"+dotprod"}, {"-neon"}, {"+v8.2a"}, {"+fullfp16"}, {"-thumb-mode"}, {"+i8mm", "-vfp2sp"}, {"+nomve"},
		{"-dsp", "+nodsp"}, {"neon"}, {"+sve"}},
	"riscv": {nil, {"+v"}, {"+v", "+zvl512b"}, {"+zvl1024b"}, {"+zve64x", "-zicsr"}, {"-d", "+v", "-f"},
		{"-64bit", "+32bit"}, {"+v", "+zvl65536b", "-zvl4096b"}},
}

// M-profile CPUs with suffixes, and names that are similar to them.
var microcontrollers = strings.Fields(`cortex-m0+nodsp cortex-m0x cortex-m33+nodsp cortex-m33+nomve
  cortex-m35 cortex-m4+nofp cortex-m4+nodsp cortex-m55+nodsp cortex-m55+nomve cortex-m55+nomve+nodsp
  cortex-m85+nomve.fp cortex-m7x cortex-m cortex-M4 xcortex-m4`)

func questions(t *testing.T) []question {
	var all []question
	for _, family := range slices.Sorted(maps.Keys(triples)) {
		list := triples[family]
		table, err := readTable(family)
		require.NoError(t, err)
		known := CPUs(list[0])
		for _, triple := range list {
			all = append(all, question{Ask: "cpus", Triple: triple})
			for _, cpu := range slices.Concat([]string{"", "nosuch"}, known, slices.Sorted(maps.Keys(table.aliases))) {
				for _, attrs := range attributes[family] {
					all = append(all, question{Ask: "features", Triple: triple, CPU: cpu, Attrs: attrs})
					if family == "aarch64" || family == "arm" {
						all = append(all, question{Ask: "arm", Triple: triple, CPU: cpu, Attrs: attrs})
					}
				}
				if triple == list[0] {
					all = append(all, question{Ask: "arm", Kind: "c", CPU: cpu})
				}
			}
			for _, cpu := range append([]string{"", "nosuch", "haswell", "help", "cortex-a53", "apple-m1", "sifive-u74",
				"generic-rv32", "Haswell"}, known...) {
				all = append(all, question{Ask: "valid", Triple: triple, CPU: cpu})
			}
		}
		for _, feature := range table.features {
			all = append(all, question{Ask: "features", Triple: list[0], Attrs: []string{"+" + feature}},
				question{Ask: "features", Triple: list[0], CPU: known[len(known)-1], Attrs: []string{"-" + feature}})
		}
		if family != "arm" {
			continue
		}
		for _, version := range slices.Sorted(maps.Keys(table.archs)) {
			for _, isa := range []string{"", "arm", "armeb", "thumb"} {
				if _, _, ok := architecture(isa + version); ok {
					all = append(all, question{Ask: "features", Triple: isa + version + "-linux"},
						question{Ask: "features", Triple: isa + version + "-linux", CPU: "cortex-a9"})
				}
			}
		}
	}
	for _, cpu := range microcontrollers {
		all = append(all, question{Ask: "arm", Kind: "c", CPU: cpu}, question{Ask: "arm", CPU: cpu})
		for _, triple := range []string{"arm-none-eabi", "thumbv8m.main-none-eabi", "aarch64-linux-gnu"} {
			for _, attrs := range attributes["arm"] {
				all = append(all, question{Ask: "arm", Triple: triple, CPU: cpu, Attrs: attrs})
			}
		}
	}
	for _, triple := range []string{"wasm32", "hexagon", "powerpc64le-linux", "x86_64-conda-linux-gnu"} {
		all = append(all, question{Ask: "arm", Triple: triple})
	}
	return all
}

// The tables agree with LLVM and with the targets of Apache TVM's wheel.
func TestWheel_Agrees(t *testing.T) {
	t.Parallel()
	all := questions(t)
	answers := ask(t, all)
	asked, wrong := map[string]int{}, 0
	for i, q := range all {
		asked[q.Ask]++
		ours, err := json.Marshal(q.ours())
		require.NoError(t, err)
		if wrong < 10 && !bytes.Equal(ours, answers[i]) && !jsonEqual(t, ours, answers[i]) {
			wrong++
			t.Errorf("%+v:\nours  %s\nwheel %s", q, ours, answers[i])
		}
	}
	t.Logf("compared %v", asked)
}

// ask makes the wheel answer all questions in one process.
func ask(t *testing.T, all []question) []json.RawMessage {
	t.Helper()
	input, err := json.Marshal(all)
	require.NoError(t, err)
	var answers []json.RawMessage
	require.NoError(t, json.Unmarshal(wheel.Run(t, bytes.NewReader(input), "testdata/wheel.py"), &answers))
	require.Len(t, answers, len(all))
	return answers
}

func jsonEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	text := func(data []byte) string {
		var x any
		require.NoError(t, json.Unmarshal(data, &x))
		return fmt.Sprint(x) // maps are printed in sorted order
	}
	return text(a) == text(b)
}

// The tables equal what their generator writes with the wheel.
func TestWheel_Tables(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	wheel.Run(t, nil, "gen/tables.py", made)
	names, err := filepath.Glob("tables/*")
	require.NoError(t, err)
	require.Len(t, names, len(triples))
	for _, name := range names {
		require.True(t, unzipped(t, filepath.Join(made, filepath.Base(name))) == unzipped(t, name),
			"go generate makes another %s", name)
	}
}

func unzipped(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

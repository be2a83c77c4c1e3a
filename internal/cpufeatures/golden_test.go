package cpufeatures

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
)

// sample has one or two questions for each rule. They are answered without the wheel.
var sample = []question{
	{Ask: "features", Triple: "x86_64-unknown-linux-gnu"},
	{Ask: "features", Triple: "x86_64-unknown-linux-gnu", CPU: "skylake-avx512", Attrs: []string{"-avx512f"}},
	{Ask: "features", Triple: "x86_64-unknown-linux-gnu", CPU: "znver4", Attrs: []string{"-sse2"}},
	{Ask: "features", Triple: "x86_64-unknown-linux-gnu", CPU: "nosuch", Attrs: []string{"+avx512f,-f16c"}},
	{Ask: "features", Triple: "i386-unknown-linux-gnu", CPU: "pentium4", Attrs: []string{"sse", "+nosuch"}},
	{Ask: "features", Triple: "aarch64-unknown-linux-gnu", CPU: "cortex-a76"},
	{Ask: "features", Triple: "arm64-apple-macos", CPU: "apple-m1"},
	{Ask: "features", Triple: "aarch64-unknown-linux-gnu", Attrs: []string{"+v9a", "-sve2", "-neon"}},
	{Ask: "features", Triple: "armv7a-linux-gnueabihf"},
	{Ask: "features", Triple: "armv7a-linux-gnueabihf", CPU: "cortex-a9"},
	{Ask: "features", Triple: "thumbv8.1m.main-none-eabi", CPU: "cortex-m55"},
	{Ask: "features", Triple: "armebv6t2-linux", Attrs: []string{"+fullfp16"}},
	{Ask: "features", Triple: "armv7-pc-windows-msvc"},
	{Ask: "features", Triple: "xscale-linux"},
	{Ask: "features", Triple: "i386-pc-none-code16", CPU: "i486"},
	{Ask: "features", Triple: "armv9a-linux", CPU: "cortex-a8"},
	{Ask: "features", Triple: "thumbeb-none"},
	{Ask: "arm", Triple: "arm-none-eabi", CPU: "cortex-m55", Attrs: []string{"+nodsp"}},
	{Ask: "features", Triple: "riscv64-unknown-linux-gnu", CPU: "sifive-u74", Attrs: []string{"+v"}},
	{Ask: "features", Triple: "riscv32-unknown-elf"},
	{Ask: "cpus", Triple: "riscv64-unknown-linux-gnu"},
	{Ask: "valid", Triple: "x86_64-unknown-linux-gnu", CPU: "haswell"},
	{Ask: "valid", Triple: "x86_64-unknown-linux-gnu", CPU: "cortex-a53"},
	{Ask: "valid", Triple: "x86_64-unknown-linux-gnu"},
	{Ask: "valid", Triple: "aarch64-linux-gnu", CPU: "apple-latest"},
	{Ask: "valid", Triple: "riscv64-linux-gnu", CPU: "generic-rv32"},
	{Ask: "arm", Triple: "aarch64-linux-gnu"},
	{Ask: "arm", Triple: "aarch64-linux-gnu", CPU: "neoverse-v1"},
	{Ask: "arm", Triple: "aarch64-linux-gnu", Attrs: []string{"+i8mm"}},
	{Ask: "arm", Triple: "aarch64-linux-gnu", CPU: "neoverse-v1", Attrs: []string{"-sve", "+sme"}},
	{Ask: "arm", Triple: "aarch64-linux-gnu", CPU: "nosuch", Attrs: []string{"+dotprod"}},
	{Ask: "arm", Triple: "aarch64-linux-gnu", CPU: "cortex-m4"},
	{Ask: "arm", Triple: "arm64-apple-macos", CPU: "apple-m1"},
	{Ask: "arm", Triple: "armv7a-linux-gnueabihf"},
	{Ask: "arm", Triple: "arm-linux-gnueabi", CPU: "cortex-m23"},
	{Ask: "arm", Triple: "armv8l-linux-gnueabihf", CPU: "cortex-a55", Attrs: []string{"-neon"}},
	{Ask: "arm", Triple: "thumbv7a-linux"},
	{Ask: "arm", Triple: "thumbv8.1m.main-none-eabi", CPU: "cortex-m85"},
	{Ask: "arm", Triple: "thumbv8.1m.main-none-eabi", CPU: "cortex-m85", Attrs: []string{"+nomve"}},
	{Ask: "arm", Kind: "c", CPU: "cortex-m55+nodsp"},
	{Ask: "arm", Kind: "c", CPU: "cortex-m35"},
	{Ask: "arm", Kind: "c", CPU: "cortex-m0plus"},
	{Ask: "arm", Kind: "c", CPU: "cortex-a53"},
	{Ask: "arm", Triple: "x86_64-linux-gnu"},
}

// The wheel's answers are recorded; go test -run Golden -update queries it again.
func TestGolden(t *testing.T) {
	type entry struct {
		Question question `json:"question"`
		Answer   any      `json:"answer"`
	}
	if golden.Updating() {
		var entries []entry
		for i, answer := range ask(t, sample) {
			entries = append(entries, entry{sample[i], answer})
		}
		text, err := json.MarshalIndent(entries, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("testdata/golden.json", append(text, '\n'), 0o644))
	}
	var entries []entry
	text, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &entries))
	require.Len(t, entries, len(sample), "go test -run Golden -update")
	for i, e := range entries {
		require.Equal(t, sample[i], e.Question, "go test -run Golden -update")
		ours, err := json.Marshal(e.Question.ours())
		require.NoError(t, err)
		wheel, err := json.Marshal(e.Answer)
		require.NoError(t, err)
		require.JSONEq(t, string(wheel), string(ours), "%+v", e.Question)
	}
}

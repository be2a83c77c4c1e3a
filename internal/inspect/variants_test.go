package inspect

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/abi"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// withVariants compiles a library with a function f and a list of its variants.
func withVariants(t *testing.T, text string) []byte {
	t.Helper()
	dir := t.TempDir()
	source, out := filepath.Join(dir, "f.c"), filepath.Join(dir, "f.so")
	code := fmt.Sprintf("int __tvm_ffi_f(void) { return 0; }\nconst char __tvmgo_variants_f[] = %s;\n", abi.Literal(text))
	require.NoError(t, os.WriteFile(source, []byte(code), 0o600))
	said, err := exec.Command("cc", "-shared", "-fPIC", "-o", out, source).CombinedOutput()
	require.NoError(t, err, string(said))
	return must.Get(os.ReadFile(out))(t)
}

func TestRead_Variants(t *testing.T) {
	text := must.Get(abi.VariantTable{Function: "f", Variants: []abi.Variant{
		{Function: "f__c", Device: dlpack.CPU, Target: "c"},
		{Function: "f__cuda_sm_86", Device: dlpack.CUDA, Target: "cuda -arch=sm_86",
			Needs: []abi.Need{{Attribute: abi.NeedCapability, Least: 806, Most: 899}}},
		{Function: "f__cuda_sm_90a", Device: dlpack.CUDA, Target: "cuda -arch=sm_90a",
			Needs: []abi.Need{{Attribute: abi.NeedCapability, Least: 900, Most: 900}}},
	}}.Text())(t)
	data := withVariants(t, text)
	report := must.Get(inspectBytes("f.so", data))(t)
	require.Empty(t, report.Problems)
	require.Equal(t, []Variant{{"cpu", "c", "f__c", nil},
		{"cuda", "cuda -arch=sm_86", "f__cuda_sm_86", []string{"compute capability 8.6 to 8.99"}},
		{"cuda", "cuda -arch=sm_90a", "f__cuda_sm_90a", []string{"compute capability 9.0"}}}, report.Functions[0].Variants)

	// every byte of the list matters
	at := bytes.Index(data, []byte(text))
	for i := at; i < at+len(text)+1; i++ {
		for _, v := range []byte{0, data[i] + 1, data[i] ^ 0x80, ' '} {
			if v == data[i] {
				continue
			}
			old := data[i]
			data[i] = v
			report, err := inspectBytes("f.so", data)
			require.NoError(t, err)
			require.Len(t, report.Problems, 1, "byte %d is %q", i-at, v)
			require.Contains(t, report.Problems[0], "the list of the variants of function f (__tvmgo_variants_f) is damaged: ")
			require.NoError(t, report.WriteText(io.Discard))
			data[i] = old
		}
	}
	for _, wrong := range []string{"", "00000000 ", strings.Repeat("x", 10000)} {
		report := must.Get(inspectBytes("f.so", withVariants(t, wrong)))(t)
		require.Len(t, report.Problems, 1)
	}
	other := must.Get(abi.VariantTable{Function: "g", Variants: []abi.Variant{{Function: "g__c"}}}.Text())(t)
	report = must.Get(inspectBytes("f.so", withVariants(t, other)))(t)
	require.Equal(t, []string{"the list of the variants of function f (__tvmgo_variants_f) is damaged: it is that of " +
		"function g: copy or export it again"}, report.Problems)
}

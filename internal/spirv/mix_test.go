package spirv

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// shaders are the modules that other packages' tests execute.
func shaders(t *testing.T) []string {
	t.Helper()
	paths := must.Get(filepath.Glob("../../runtime/vulkan/testdata/*.spv"))(t)
	require.NotEmpty(t, paths)
	return paths
}

// Classes by the names of instructions, and the sum of all, are those of the tool spirv-dis.
func TestMix_EqualsSpirvDis(t *testing.T) {
	tool, err := exec.LookPath("spirv-dis")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "install spirv-tools")
		t.Skip("there is no spirv-dis")
	}
	none := regexp.MustCompile(`^(Function|FunctionEnd|FunctionParameter|Label|Variable|Line|NoLine|Undef|` +
		`SelectionMerge|LoopMerge|(InBounds)?(Ptr)?AccessChain)$`)
	patterns := map[string]*regexp.Regexp{
		"float":    regexp.MustCompile(`^(FAdd|FSub|FMul|FDiv|FRem|FMod|FNegate|Dot|VectorTimesScalar)$`),
		"barrier":  regexp.MustCompile(`^(ControlBarrier|MemoryBarrier)$`),
		"branch":   regexp.MustCompile(`^(Branch|BranchConditional|Switch|Return|FunctionCall|ReturnValue|Unreachable)$`),
		"atomic":   regexp.MustCompile(`^Atomic`),
		"subgroup": regexp.MustCompile(`^GroupNonUniform`),
	}
	for _, path := range shaders(t) {
		code := must.Get(os.ReadFile(path))(t)
		got, err := Mix(code)
		require.NoError(t, err)
		cmd := exec.Command(tool, "-")
		cmd.Stdin = bytes.NewReader(code)
		out, err := cmd.Output()
		require.NoError(t, err)
		inside, want, loads, stores := false, map[string]int{}, 0, 0
		for line := range strings.Lines(string(out)) {
			m := regexp.MustCompile(`^\s*(?:%\S+ = )?Op(\w+)`).FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if m[1] == "Function" {
				inside = true
			}
			if !inside || none.MatchString(m[1]) {
				continue
			}
			want["all"]++
			for class, p := range patterns {
				if p.MatchString(m[1]) && !strings.Contains(line, "OpExtInst") {
					want[class]++
				}
			}
			switch m[1] {
			case "Load":
				loads++
			case "Store":
				stores++
			}
		}
		sum := 0
		for _, n := range got {
			sum += n
		}
		require.Equal(t, want["all"], sum, path)
		for class := range patterns {
			if class != "float" { // functions of GLSL.std.450 count, too
				require.Equal(t, want[class], got[class], "%s: %s", path, class)
			}
			require.GreaterOrEqual(t, got[class], want[class], "%s: %s", path, class)
		}
		require.LessOrEqual(t, got["load global"]+got["load shared"], loads, path)
		require.LessOrEqual(t, got["store global"]+got["store shared"], stores, path)
	}
}

// A kernel by hand has the instructions that its text has.
func TestMix(t *testing.T) {
	const text = `
               OpCapability Shader
          %1 = OpExtInstImport "GLSL.std.450"
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main" %gid
               OpExecutionMode %main LocalSize 64 1 1
               OpDecorate %gid BuiltIn GlobalInvocationId
               OpDecorate %rt ArrayStride 4
               OpMemberDecorate %buf 0 Offset 0
               OpDecorate %buf Block
               OpDecorate %x DescriptorSet 0
               OpDecorate %x Binding 0
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
       %uint = OpTypeInt 32 0
      %float = OpTypeFloat 32
         %v3 = OpTypeVector %uint 3
     %ptr_in = OpTypePointer Input %v3
        %gid = OpVariable %ptr_in Input
         %rt = OpTypeRuntimeArray %float
        %buf = OpTypeStruct %rt
    %ptr_buf = OpTypePointer StorageBuffer %buf
          %x = OpVariable %ptr_buf StorageBuffer
  %ptr_float = OpTypePointer StorageBuffer %float
       %c0 = OpConstant %uint 0
       %c64 = OpConstant %uint 64
      %array = OpTypeArray %float %c64
 %ptr_shared = OpTypePointer Workgroup %array
     %shared = OpVariable %ptr_shared Workgroup
 %ptr_in_shared = OpTypePointer Workgroup %float
    %c2 = OpConstant %uint 2
    %c264 = OpConstant %uint 264
       %main = OpFunction %void None %fn
      %begin = OpLabel
         %id = OpLoad %v3 %gid
          %i = OpCompositeExtract %uint %id 0
          %j = OpIAdd %uint %i %c0
          %p = OpAccessChain %ptr_float %x %c0 %j
          %a = OpLoad %float %p
          %b = OpExtInst %float %1 Fma %a %a %a
          %c = OpExtInst %float %1 Exp %b
          %d = OpFMul %float %c %a
          %q = OpAccessChain %ptr_in_shared %shared %c0
               OpStore %q %d
               OpControlBarrier %c2 %c2 %c264
          %e = OpLoad %float %q
          %f = OpConvertFToU %uint %e
          %g = OpConvertUToF %float %f
               OpStore %p %g
               OpReturn
               OpFunctionEnd
`
	assembler, err := exec.LookPath("spirv-as")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "install spirv-tools")
		t.Skip("there is no spirv-as")
	}
	path := filepath.Join(t.TempDir(), "k.spv")
	cmd := exec.Command(assembler, "--target-env", "vulkan1.1", "-o", path, "-")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	code := must.Get(os.ReadFile(path))(t)
	require.Equal(t, map[string]int{"other": 2, "integer": 1, "load global": 1, "fma": 1, "special": 1, "float": 1,
		"store shared": 1, "barrier": 1, "load shared": 1, "convert": 2, "store global": 1, "branch": 1},
		must.Get(Mix(code))(t))
	require.Error(t, must.Fail(Mix(code[:len(code)-6])))
	require.Error(t, must.Fail(Mix(nil)))
}

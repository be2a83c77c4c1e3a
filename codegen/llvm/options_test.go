package llvm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

const linux = "llvm -mtriple=x86_64-linux-gnu"

// The processor's features determine which registers the code uses.
func TestOptions_MachineShowsInCode(t *testing.T) {
	ymm, zmm := regexp.MustCompile(`%ymm\d`), regexp.MustCompile(`%zmm\d`)
	for _, row := range []struct {
		target   string
		ymm, zmm bool
	}{
		{linux, false, false},
		{linux + " -mcpu=generic", false, false},
		{linux + " -mattr=+avx2", true, false},
		{linux + " -mattr=+sse4.2,+avx2,-avx", false, false},
		{linux + " -mcpu=haswell", true, false},
		{linux + " -mcpu=haswell -mattr=-avx", false, false},
		{linux + " -mattr=+avx512f -vector-width=512", true, true},
		{linux + " -mcpu=skylake-avx512", true, false}, // LLVM prefers 256 bits for this CPU
		{linux + " -mcpu=skylake-avx512 -vector-width=512", true, true},
		{linux + " -mcpu=haswell -vector-width=128", false, false},
		{linux + " -mcpu=haswell -opt-level=0", false, false},
	} {
		code := source(t, built(t, parsed(t, addProgram), row.target), "s")
		require.Contains(t, code, "%xmm", row.target)
		require.Equal(t, row.zmm, zmm.MatchString(code), row.target)
		require.Equal(t, row.ymm || row.zmm, ymm.MatchString(code) || zmm.MatchString(code), row.target)
	}
}

// The IR names the processor and its features, and the machine.
func TestOptions_MachineShowsInIR(t *testing.T) {
	ir := source(t, built(t, parsed(t, addProgram), linux+" -mcpu=haswell -mattr=+avx512f,-bmi2"), "ll")
	require.Contains(t, ir, `"target-cpu"="haswell"`)
	require.Regexp(t, `"target-features"="[^"]*\+avx512f[^"]*-bmi2`, ir)
	for triple, want := range map[string]string{"aarch64-linux-gnu": "aarch64-", "riscv64-linux-gnu": "riscv64-",
		"arm-linux-gnueabihf": "arm", "i686-linux-gnu": "i686-",
		"aarch64-none-elf": "aarch64-"} {
		ir := source(t, built(t, parsed(t, addProgram+dotProgram), "llvm -mtriple="+triple), "ll")
		require.Contains(t, ir, `target triple = "`+want, triple)
	}
}

func TestOptions_OptLevel(t *testing.T) {
	lines := map[string]int{}
	for _, level := range []string{"", " -opt-level=0", " -opt-level=1", " -opt-level=2", " -opt-level=3"} {
		m := built(t, parsed(t, addProgram), linux+level)
		code := source(t, m, "s")
		lines[level] = strings.Count(code, "\n")
		// vectors
		require.Equal(t, level != " -opt-level=0" && level != " -opt-level=1", strings.Contains(code, "addps"), level)
	}
	require.Equal(t, lines[""], lines[" -opt-level=3"])
	require.NotEqual(t, lines[""], lines[" -opt-level=1"])
}

func TestOptions_FastMath(t *testing.T) {
	ir := func(options string) string { return source(t, built(t, parsed(t, dotProgram), linux+options), "ll") }
	require.NotRegexp(t, `f(add|mul|div) [a-z ]*(fast|nnan|ninf|nsz|arcp|contract|reassoc)`, ir(""))
	for _, part := range []string{"nnan", "ninf", "nsz", "arcp", "contract", "reassoc"} {
		require.Regexp(t, `f(add|mul|div) [a-z ]*`+part+` `, ir(" -fast-math-"+part), part)
		require.NotRegexp(t, `f(add|mul|div) [a-z ]*`+part+` `, ir(" -fast-math -fast-math-"+part+"=0"), part)
		require.Regexp(t, `f(add|mul|div) [a-z ]*`+part+` `, ir(" -fast-math"), part)
	}
}

// A product and its sum become one instruction if the CPU has it, unless the target forbids it.
func TestOptions_Contract(t *testing.T) {
	program := strings.Replace(dotProgram, " / 3.0", "", 1)
	require.Contains(t, source(t, built(t, parsed(t, program), linux+" -mcpu=haswell"), "s"), "vfmadd")
	require.NotContains(t, source(t, built(t, parsed(t, program), linux+" -mcpu=haswell -fast-math-contract=0"), "s"),
		"vfmadd")
	require.NotContains(t, source(t, built(t, parsed(t, program), linux+" -mcpu=haswell -mattr=-fma"), "s"), "vfmadd")
}

func TestOptions_ABI(t *testing.T) {
	soft := source(t, built(t, parsed(t, dotProgram), "llvm -mtriple=arm-linux-gnueabi -mfloat-abi=soft"), "s")
	require.True(t, strings.Contains(soft, "__aeabi_fadd"))
	hard := source(t, built(t, parsed(t, dotProgram),
		"llvm -mtriple=arm-linux-gnueabihf -mfloat-abi=hard -mcpu=cortex-a9"), "s")
	require.False(t, strings.Contains(hard, "__aeabi_fadd"))
	require.True(t, strings.Contains(hard, "vadd.f32"))
	require.Contains(t, source(t, built(t, parsed(t, dotProgram), "llvm -mtriple=riscv64-linux-gnu -mabi=lp64d"), "ll"),
		`!"target-abi", !"lp64d"`)
	require.Contains(t, source(t, built(t, parsed(t, dotProgram), "llvm -mtriple=riscv64-linux-gnu -mabi=lp64"), "ll"),
		`!"target-abi", !"lp64"`)
	built(t, parsed(t, dotProgram), "llvm -mtriple=riscv64-linux-gnu -mfloat-abi=hard")
}

func TestOptions_LLVMsOwn(t *testing.T) {
	plain := source(t, built(t, parsed(t, addProgram), linux), "s")
	for _, option := range []string{"-force-vector-interleave=1", "-force-vector-interleave:uint=1"} {
		m := built(t, parsed(t, addProgram), map[string]any{"kind": "llvm", "mtriple": "x86_64-linux-gnu",
			"cl-opt": []string{option}})
		require.NotEqual(t, plain, source(t, m, "s"), option)
	}
}

func TestOptions_BadInput(t *testing.T) {
	needClang(t)
	for _, row := range []struct {
		target any
		want   string
	}{
		{"llvm -mtriple=foo-bar", `target option mtriple "foo-bar": clang `},
		{"llvm -mtriple=foo-bar", `does not know this machine: unknown target triple 'foo-bar'`},
		{map[string]any{"kind": "llvm", "mtriple": "-v"}, `target option mtriple "-v": this is not a target triple`},
		{linux + " -mcpu=haswel", `target option mcpu "haswel": clang `},
		{linux + " -mcpu=haswel", `knows no CPU "haswel" of x86_64-linux-gnu; did you mean "haswell"?`},
		{linux + " -mcpu=cortex-a72", `target option mcpu "cortex-a72"`},
		{"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a722",
			`knows no CPU "cortex-a722" of aarch64-linux-gnu; did you mean "cortex-a72"?`},
		{"llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-u7", `target option mcpu "sifive-u7"`},
		{"llvm -mtriple=arm-linux-gnueabihf -mcpu=cortex-9", `target option mcpu "cortex-9"`},
		{linux + " -mattr=+", `target option mattr "+": write the name of a feature after the sign, as in +avx2`},
		{linux + " -mattr=+avx2,-", `target option mattr "-": write the name of a feature after the sign`},
		{linux + " -mattr=++avx2", `target option mattr "++avx2": write +avx2 to have the feature, or -avx2 to do without`},
		{linux + " -mattr=+avx9", `target option mattr "+avx9": clang `},
		{linux + " -mattr=+avx2,-avx512ff", `knows no feature "avx512ff" of x86_64-linux-gnu; did you mean "avx512f"?`},
		{"llvm -mtriple=aarch64-linux-gnu -mattr=+avx2", `knows no feature "avx2" of aarch64-linux-gnu`},
		{linux + " -mattr=avx2", `target option mattr "avx2": write +avx2 to have the feature, or -avx2 to do without`},
		{linux + " -mabi=lp64d", `target option mabi "lp64d": there is one calling convention on x86_64: leave it out`},
		{"llvm -mtriple=riscv64-linux-gnu -mabi=lp99", `target option mabi "lp99": clang `},
		{linux + " -mfloat-abi=soft", `target option mfloat-abi "soft": floats are passed in one way on x86_64, hard`},
		{map[string]any{"kind": "llvm", "cl-opt": []string{"-no-such-option-1=7"}},
			`target option cl-opt "-no-such-option-1=7": clang `},
		{map[string]any{"kind": "llvm", "cl-opt": []string{"-unroll-threshold:float=7"}},
			`the type "float" is not one of bool, int, uint and string`},
		{map[string]any{"kind": "llvm", "cl-opt": []string{"unroll"}}, `write -name, -name=value or -name:type=value`},
		{map[string]any{"kind": "llvm", "cl-opt": []string{"-unroll-threshold=many"}},
			`target option cl-opt "-unroll-threshold=many": clang `},
		{"llvm -jit=orcjit", `target option jit "orcjit": code that is called at once goes through clang and a library`},
	} {
		err := buildError(t, row.target)
		require.ErrorContains(t, err, row.want)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument, "%v", err)
		require.ErrorContains(t, err, `build for kind "llvm": `)
	}
}

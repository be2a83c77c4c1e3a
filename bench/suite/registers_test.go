package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
)

// multiplyAddLoop returns the instructions of the shortest loop with multiply-adds of x86 assembly.
func multiplyAddLoop(assembly string) (best []string) {
	label, jump := regexp.MustCompile(`^(\.L\w+):`), regexp.MustCompile(`^\s+j\w+\s+(\.L\w+)`)
	begin := map[string]int{}
	lines := strings.Split(assembly, "\n")
	for i, line := range lines {
		if m := label.FindStringSubmatch(line); m != nil {
			begin[m[1]] = i
		}
		m := jump.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		from, backward := begin[m[1]]
		if !backward || !strings.Contains(strings.Join(lines[from:i], "\n"), "\tvfmadd") {
			continue
		}
		var loop []string
		for _, l := range lines[from : i+1] {
			code, _, _ := strings.Cut(l, "#")
			if code = strings.TrimSpace(code); code != "" && !strings.HasPrefix(code, ".") {
				loop = append(loop, code)
			}
		}
		if best == nil || len(loop) < len(best) {
			best = loop
		}
	}
	return best
}

// inMemory counts the instructions that access memory.
func inMemory(loop []string) (n int) {
	for _, code := range loop {
		if strings.Contains(code, "(") && !strings.HasPrefix(code, "lea") {
			n++
		}
	}
	return n
}

// Registers of CPUs hold all chains: of clang's code, the inner loop has no access to memory. GCC keeps the array of
// chains in memory between two iterations, and reads and writes each of its vectors once; it computes vectors that are
// longer than a register in memory, whatever the number of chains.
func TestPeak_RegistersOfCPUs(t *testing.T) {
	for _, cpu := range []string{"x86-64-v3", "x86-64-v4"} {
		to := must.Get(target.New(map[string]any{"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": cpu}))(t)
		for _, of := range peakTypes {
			for _, width := range of.widths {
				if of.t != tir.Float32 && (of.t != tir.Float64 || width != 8) {
					continue
				}
				p := peakKernelFor(to, of.t, width, false)
				require.Equal(t, fused, p.madd)
				m := must.Open(codegen.Build(must.Get(p.program())(t), to))(t)
				loop := multiplyAddLoop(must.Get(m.GetSource("s"))(t))
				require.NotEmpty(t, loop)
				require.Zero(t, inMemory(loop), "%s, clang, %d of %s: %q", cpu, width, of.clpeak, loop)
				t.Logf("%s: vectors of %d %s: %d chains, %d instructions", cpu, width, of.clpeak, p.chains, len(loop))

				if of.t != tir.Float32 || width != 8 {
					continue
				}
				if _, err := exec.LookPath("gcc"); err != nil {
					require.Empty(t, os.Getenv("CI"), err)
					continue
				}
				path := filepath.Join(t.TempDir(), "peak")
				require.NoError(t, os.WriteFile(path+".c", []byte(must.Get(m.GetSource("c"))(t)), 0o666))
				out, err := exec.Command("gcc", "-O2", "-march="+cpu, "-I../../include", "-S", path+".c", "-o",
					path+".s").CombinedOutput()
				require.NoError(t, err, "%s", out)
				loop = multiplyAddLoop(string(must.Get(os.ReadFile(path + ".s"))(t)))
				require.NotEmpty(t, loop)
				require.LessOrEqual(t, inMemory(loop), 2*p.chains, "%s, gcc, %d of %s: %q", cpu, width, of.clpeak, loop)
			}
		}
	}
}

// Chains are so many as the registers hold.
func TestChainsFor(t *testing.T) {
	for text, want := range map[string][4]int{ // of 1, 4, 8 and 16 float32
		`{"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64"}`:       {12, 12, 6, 3},
		`{"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64-v3"}`:    {12, 12, 12, 6},
		`{"kind": "c", "mcpu": "x86-64-v3"}`:                                      {12, 12, 12, 6},
		`{"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64-v4"}`:    {12, 12, 12, 12},
		`{"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "neoverse-n1"}`: {12, 12, 12, 7},
		`{"kind": "cuda", "arch": "sm_90"}`:                                       {8, 4, 4, 4},
	} {
		to := must.Get(target.New(text))(t)
		for i, width := range []int{1, 4, 8, 16} {
			require.Equal(t, want[i], chainsFor(to, tir.Float32, width), "%s, %d", text, width)
			require.Equal(t, 1, peakKernelFor(to, tir.Float32, width, true).chains)
		}
	}
}

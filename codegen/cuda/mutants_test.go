package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/cuda"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// mutant is a kernel with one mistake.
type mutant struct {
	what string // the kind of mistake
	line string // the line, after it
	code string
}

// rule makes mistakes at all places where a text occurs in a kernel. It returns what replaces an occurrence; the same
// text if it makes none there.
type rule struct {
	what string
	at   *regexp.Regexp
	to   func(found []string) string
}

func always(text string) func([]string) string { return func([]string) string { return text } }

var rules = []rule{
	{"barrier removed", regexp.MustCompile(`__sync(threads|warp)\(\);`), always("")},
	{"barrier behind the next statement", regexp.MustCompile(`(__sync(?:threads|warp)\(\);)(\s+[^#{};]+;)`),
		func(found []string) string {
			if !strings.ContainsAny(found[2], "=(") || strings.Contains(found[2], "for (") { // a declaration, or a loop
				return found[0]
			}
			return found[2] + found[1]
		}},
	{"barrier before the last statement", regexp.MustCompile(`([;{}]\s+)([^{};]+;)(\s+)(__sync(?:threads|warp)\(\);)`),
		func(found []string) string { return found[1] + found[4] + found[3] + found[2] }},
	{"wait removed", regexp.MustCompile(`tvmgo_cp_async_wait<\d+>\(\);`), always("")},
	{"wait for one group less", regexp.MustCompile(`tvmgo_cp_async_wait<(\d)>`),
		func(found []string) string { return fmt.Sprintf("tvmgo_cp_async_wait<%c>", found[1][0]+1) }},
	{"group not closed", regexp.MustCompile(`tvmgo_cp_async_commit\(\);`), always("")},
	{"mask without lane 0", regexp.MustCompile(`0xffffffffu`), always("0xfffffffeu")},
	{"another lane", regexp.MustCompile(`(__shfl_\w+\([^;]*, )(\d+)\);`),
		func(found []string) string {
			return found[1] + map[string]string{"1": "2", "2": "4", "4": "8", "8": "1", "16": "1"}[found[2]] + ");"
		}},
}

// indices are the places of indices of arrays in a kernel, from [ to ].
func indices(code string) (all [][2]int) {
	declared := regexp.MustCompile(`(?m)^ *(?:__shared__ .*|const )?\w+ \w+\[\d+\](?: =.*)?;$`)
	skip := declared.FindAllStringIndex(code, -1)
	for at, c := range code {
		if c != '[' || slices.ContainsFunc(skip, func(s []int) bool {
			return s[0] <= at && at < s[0]+strings.Index(code[s[0]:], "]")
		}) {
			continue
		}
		depth := 0
		for end := at; ; end++ {
			switch code[end] {
			case '[':
				depth++
			case ']':
				depth--
			}
			if depth == 0 {
				all = append(all, [2]int{at, end})
				break
			}
		}
	}
	return all
}

var (
	barrier = regexp.MustCompile(`__sync(threads|warp)\(\);`)
	opening = regexp.MustCompile(`^(?:\s+\w+ \w+\[\d+\];|\s+#pragma \w+ \d+)*\s+(?:for|if) \([^{}]*\{`)
)

// blockAfter returns the end of the loop or condition that is the next statement but for declarations, or else 0.
func blockAfter(code string, at int) int {
	next := opening.FindStringIndex(code[at:])
	if next == nil {
		return 0
	}
	depth := 1
	for end := at + next[1]; depth > 0; end++ {
		switch code[end] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return end + 1
			}
		}
	}
	return 0
}

// mutantsOf returns a kernel with each mistake.
func mutantsOf(code string) (all []mutant) {
	add := func(what string, from, to int, text string) {
		if text == code[from:to] {
			return
		}
		changed := code[:from] + text + code[to:]
		first, last := strings.LastIndex(changed[:from], "\n")+1, from+len(text)
		if end := strings.Index(changed[last:], "\n"); end >= 0 {
			last += end
		}
		all = append(all, mutant{what, strings.TrimSpace(changed[first:last]), changed})
	}
	for _, r := range rules {
		for _, at := range r.at.FindAllStringSubmatchIndex(code, -1) {
			var found []string
			for i := 0; i < len(at); i += 2 {
				found = append(found, code[at[i]:at[i+1]])
			}
			add(r.what, at[0], at[1], r.to(found))
		}
	}
	for _, at := range barrier.FindAllStringIndex(code, -1) {
		if end := blockAfter(code, at[1]); end > 0 {
			add("barrier behind the next block", at[0], end, code[at[1]:end]+" "+code[at[0]:at[1]])
		}
	}
	for _, at := range indices(code) {
		add("index off by one", at[0]+1, at[1], "("+code[at[0]+1:at[1]]+") + 1")
	}
	return all
}

// survivor is a mistake that changes no result, with the reason.
type survivor struct{ program, what, line, why string }

var survivors = []survivor{
	{"matmul", "barrier behind the next block", `^float z_left_shared_next\[`,
		"the block loads global memory to registers: the threads access no shared memory there"},
	{"long softmax", "another lane", `z_max_other(_[1-4])? =`,
		"all threads of the block still subtract the same number from the exponents, which changes no quotient"},
	{"sum", "index off by one", `^z_rf\[[012]\] = value\[`, "all lanes of the initial value are 0"},
	{"long sum", "index off by one", `^z_rf\[[012]\] = value\[`, "all lanes of the initial value are 0"},
}

// everyMutant is the environment variable with which all mistakes are tried, not a random part of them.
const everyMutant = "TVMGO_TEST_ALL"

// Kernels of the default schedules are executed with each possible mistake: a barrier that is missing, early or late, a
// wrong lane or mask of a shuffle, a copy that is waited for too late, an index that is off by one. Each gives an error
// or a wrong result, except those in the table, which cannot change one.
func TestMutants_OfEmittedKernels(t *testing.T) {
	machine.NeedX86(t) // which mutants compute the right result depends on the compiler's order of variables
	to := must.Get(target.New("nvidia/h100"))(t)
	r := testseed.Rand(t)
	x := te.Placeholder(te.Dims(37, 70), tir.Float32, "x")
	long := te.Placeholder(te.Dims(2, 3000), tir.Float32, "x")
	y := te.Placeholder(te.Dims(70, 45), tir.Float32, "y")
	for _, p := range []struct {
		name string
		args []any // the last one is the result
	}{
		{"sum", []any{x, ops.Sum(x, "z", []int{1}, false)}},
		{"long sum", []any{long, ops.Sum(long, "z", []int{1}, false)}},
		{"softmax", []any{x, ops.Softmax(x, "z")}},
		{"long softmax", []any{long, ops.Softmax(long, "z")}},
		{"transpose", []any{x, ops.Transpose(x, "z")}},
		{"matmul", []any{x, y, ops.Matmul(x, y, "z")}},
	} {
		t.Run(p.name, func(t *testing.T) {
			s := must.Get(ops.Schedule(to, p.args[len(p.args)-1].(*te.Tensor)))(t)
			tryMutants(t, r, to, p.name, must.Get(te.Lower(s, p.args, "kernel"))(t))
		})
	}
	t.Run("pipeline", func(t *testing.T) { tryMutants(t, r, to, "pipeline", asyncProduct(t, "kernel", 32, 40)) })
}

func tryMutants(t *testing.T, r *rand.Rand, to *target.Target, name string, m *tir.IRModule) {
	m = must.Get(transform.ForDevice(cuda.Language).Run(m, to))(t)
	kernels := &tir.IRModule{}
	var host *tir.PrimFunc
	for _, f := range m.Funcs {
		if transform.IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
		} else {
			host = f
		}
	}
	require.Len(t, kernels.Funcs, 1)
	kernel := kernels.Funcs[0]
	code := must.Get(cuda.New().Emit(kernels, to))(t)
	before, code, _ := strings.Cut(code, `extern "C" `)
	all := mutantsOf(code)
	if os.Getenv(everyMutant) == "" && len(all) > 20 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:20]
	}
	var text strings.Builder
	text.WriteString(before)
	for i, one := range append([]mutant{{code: code}}, all...) {
		renamed := strings.Replace(one.code, kernel.Name+"(", fmt.Sprintf("%s_%d(", kernel.Name, i), 1)
		text.WriteString(`extern "C" ` + renamed + "\n")
	}
	library := must.Get(cudarun.Compile(text.String(), cudarun.Options{}))(t)
	run := func(i int) ([]float32, error) {
		args, grid := launchOf(t, host, kernel)
		result := args[len(args)-1].([]float32)
		err := library.Launch(fmt.Sprintf("%s_%d", kernel.Name, i), grid, args...)
		return result, err
	}
	want, err := run(0)
	require.NoError(t, err)
	for i, one := range all {
		got, err := run(i + 1)
		wrong := err != nil
		for n := range want {
			wrong = wrong || !(math.Abs(float64(got[n]-want[n])) <= 1e-6*math.Abs(float64(want[n])))
		}
		known := slices.IndexFunc(survivors, func(s survivor) bool {
			return s.program == name && s.what == one.what && regexp.MustCompile(s.line).MatchString(one.line)
		})
		if known < 0 && !wrong {
			t.Errorf("%s: %s: no error, and the result is right:\n%s", name, one.what, one.line)
		}
	}
}

// launchOf returns arguments for a kernel, and its grid, from the call in the host's function. The inputs have
// different numbers; the result is last.
func launchOf(t *testing.T, host, kernel *tir.PrimFunc) (args []any, grid cudarun.Grid) {
	t.Helper()
	var call *tir.Call
	tir.Walk(host, func(node any) bool {
		if c, ok := node.(*tir.Call); ok && c.Name == kernel.Name {
			call = c
		}
		return true
	})
	require.NotNil(t, call)
	for i, p := range kernel.Params {
		shape := kernel.Buffers[p].Shape
		require.Len(t, shape, 1)
		n, _ := tir.IntValue(shape[0])
		data := make([]float32, n)
		if i < len(kernel.Params)-1 {
			for at := range data {
				data[at] = float32(at*7919%1009)/512 - 1
				if at%3000 == 17 { // so that a softmax with another maximum is wrong
					data[at] = 8
				}
			}
		}
		args = append(args, data)
	}
	for i, tag := range transform.LaunchTags(kernel) {
		n, known := tir.IntValue(call.Args[len(kernel.Params)+i])
		require.True(t, known)
		d := strings.Index("xyz", tag[len(tag)-1:])
		switch {
		case strings.HasPrefix(tag, "blockIdx."):
			grid.Blocks[d] = int(n)
		case strings.HasPrefix(tag, "threadIdx."):
			grid.Threads[d] = int(n)
		default:
			grid.Shared = int(n)
		}
	}
	return args, grid
}

package conformance_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile/conformance"
	"tvmgo/dlpack"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/target"
)

// nodeTests returns the folder with the tests of single operators in ONNX's wheel.
func nodeTests(t *testing.T) []string {
	t.Helper()
	out := wheel.Run(t, nil, "-c", "import onnx, os; print(os.path.dirname(onnx.__file__))")
	return must.Get(conformance.Find(filepath.Join(strings.TrimSpace(string(out)), "backend", "test", "data", "node")))(t)
}

// known reads the table of tests that do not pass on a kind of targets, with the reasons. A reason that begins with "On
// opencl and vulkan: " is one for these kinds, another one for all.
func known(t *testing.T, kind string) map[string]string {
	t.Helper()
	f := must.Get(os.Open("testdata/node.txt"))(t)
	defer f.Close()
	table := map[string]string{}
	reason, applies := "", false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "" || line[0] == '#':
		case line[0] != '\t':
			reason, applies = line, true
			if rest, ok := strings.CutPrefix(line, "On "); ok {
				kinds, _, _ := strings.Cut(rest, ": ")
				applies = slices.Contains(strings.Split(kinds, " and "), kind)
			}
		default:
			require.NotEmpty(t, reason)
			if applies {
				table[strings.TrimSpace(line)] = reason
			}
		}
	}
	return table
}

// run runs tests, and returns their errors by name.
func run(t *testing.T, to string, dirs []string) map[string]error {
	t.Helper()
	return runWith(t, to, conformance.Defaults, dirs)
}

// runWith is run with tolerances.
func runWith(t *testing.T, to string, o conformance.Options, dirs []string) map[string]error {
	t.Helper()
	o.Target = must.Get(target.New(to))(t)
	next := make(chan string)
	var group sync.WaitGroup
	var lock sync.Mutex
	errs := map[string]error{}
	for range goruntime.NumCPU() {
		group.Go(func() {
			for dir := range next {
				if _, err := conformance.Run(context.Background(), dir, o); err != nil {
					lock.Lock()
					errs[filepath.Base(dir)] = err
					lock.Unlock()
				}
			}
		})
	}
	for _, dir := range dirs {
		next <- dir
	}
	close(next)
	group.Wait()
	return errs
}

// nodeTargets are the targets of TestNodes. Drivers take long to compile kernels: the samples of devices are smaller.
var nodeTargets = []struct {
	target, kind string
	device       dlpack.DeviceType
	every        int // the sample has one of so many tests
}{
	{"c", "c", dlpack.CPU, 20},
	{"opencl -from_device=0", "opencl", dlpack.OpenCL, 100},
	{"vulkan -from_device=0", "vulkan", dlpack.Vulkan, 100},
}

// Models of single operators in ONNX's wheel give the recorded outputs, on the CPU and on devices: a fixed sample, or
// with TVMGO_TEST_ALL all of them. The table in testdata has exactly those that do not pass.
func TestNodes(t *testing.T) {
	tests := nodeTests(t)
	for _, on := range nodeTargets {
		t.Run(on.kind, func(t *testing.T) {
			if !runtime.DeviceExists(dlpack.Device{Type: on.device}) {
				gputest.Missing(t, on.device, "there is no device")
			}
			checkNodes(t, tests, on.target, known(t, on.kind), on.every)
		})
	}
}

// The documentation says how many pass.
func TestNodes_Documented(t *testing.T) {
	doc := string(must.Get(os.ReadFile("../../docs/models.md"))(t))
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	tests := len(nodeTests(t))
	for _, on := range nodeTargets {
		require.Contains(t, doc, fmt.Sprintf("Of the %s tests of single operators in ONNX's wheel, %s pass", thousands(tests),
			thousands(tests-len(known(t, on.kind)))), on.kind)
	}
}

func checkNodes(t *testing.T, tests []string, to string, table map[string]string, every int) {
	t.Helper()
	var dirs []string
	all := os.Getenv("TVMGO_TEST_ALL") != ""
	for i, dir := range tests {
		if _, fails := table[filepath.Base(dir)]; all || i%every == 0 && !fails {
			dirs = append(dirs, dir)
		}
	}
	require.Greater(t, len(dirs), 1000/every)
	errs := run(t, to, dirs)
	var wrong []string
	for name, err := range errs {
		if table[name] == "" {
			wrong = append(wrong, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if all {
		for name := range table {
			if errs[name] == nil {
				wrong = append(wrong, name+" passes now: remove it from testdata/node.txt")
			}
		}
		t.Logf("%d of %d tests pass", len(dirs)-len(errs), len(dirs))
	}
	slices.Sort(wrong)
	require.Empty(t, wrong)
}

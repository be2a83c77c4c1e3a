package conformance_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile/conformance"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	_ "tvmgo/runtime/all"
	"tvmgo/target"
)

// nodeTests returns the folder with the tests of single operators in ONNX's wheel.
func nodeTests(t *testing.T) []string {
	t.Helper()
	out := wheel.Run(t, nil, "-c", "import onnx, os; print(os.path.dirname(onnx.__file__))")
	return must.Get(conformance.Find(filepath.Join(strings.TrimSpace(string(out)), "backend", "test", "data", "node")))(t)
}

// known reads the table of tests that do not pass, with the reasons.
func known(t *testing.T) map[string]string {
	t.Helper()
	f := must.Get(os.Open("testdata/node.txt"))(t)
	defer f.Close()
	table := map[string]string{}
	reason := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "" || line[0] == '#':
		case line[0] != '\t':
			reason = line
		default:
			require.NotEmpty(t, reason)
			table[strings.TrimSpace(line)] = reason
		}
	}
	return table
}

// run runs tests, and returns their errors by name.
func run(t *testing.T, kind string, dirs []string) map[string]error {
	t.Helper()
	return runWith(t, kind, conformance.Defaults, dirs)
}

// runWith is run with tolerances.
func runWith(t *testing.T, kind string, o conformance.Options, dirs []string) map[string]error {
	t.Helper()
	o.Target = must.Get(target.New(kind))(t)
	next := make(chan string)
	var group sync.WaitGroup
	var lock sync.Mutex
	errs := map[string]error{}
	for range runtime.NumCPU() {
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

// Models of single operators in ONNX's wheel give the recorded outputs: a fixed sample, or with TVMGO_TEST_ALL all of
// them. The table in testdata has exactly those that do not pass.
func TestNodes(t *testing.T) {
	table := known(t)
	var dirs []string
	all := os.Getenv("TVMGO_TEST_ALL") != ""
	for i, dir := range nodeTests(t) {
		if _, fails := table[filepath.Base(dir)]; all || i%10 == 0 && !fails {
			dirs = append(dirs, dir)
		}
	}
	errs := run(t, "c", dirs)
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
	require.Greater(t, len(dirs), 100)
}

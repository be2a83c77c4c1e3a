package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile/conformance"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/wheel"
)

// python runs a script of testdata/random, which writes tests to the folder of its first argument, and returns them.
func python(t *testing.T, script string, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	path := must.Get(filepath.Abs(filepath.Join("testdata", "random", script)))(t)
	wheel.Run(t, nil, append([]string{path, dir}, args...)...)
	return must.Get(conformance.Find(dir))(t)
}

// unmade are the operators without random models, with the reasons.
var unmade = map[string]string{
	"CausalConvWithState": "onnxruntime does not have it",
	"LinearAttention":     "onnxruntime does not have it",
}

// Every operator that is imported has a maker of random nodes, but those of a table.
func TestRandom_Operators(t *testing.T) {
	script := must.Get(filepath.Abs(filepath.Join("testdata", "random", "generate.py")))(t)
	made := strings.Fields(string(wheel.Run(t, nil, script, "--list")))
	for _, name := range onnx.Operators() {
		require.Equal(t, unmade[name] == "", slices.Contains(made, name), name)
	}
	for name := range unmade {
		require.Contains(t, onnx.Operators(), name)
	}
}

// count counts the operators of nodes, also in bodies.
func count(nodes []*file.Node, into map[string]int) {
	for _, n := range nodes {
		into[n.OpType]++
		for _, a := range n.Attributes {
			if a.Graph != nil {
				count(a.Graph.Nodes, into)
			}
		}
	}
}

// Random models give the results of onnxruntime: operators with random attributes, shapes and types, of operator sets
// from 7 on, with dynamic dimensions for which the same library is called with several sizes, and with bodies. With
// TVMGO_TEST_ALL there are more, and each operator occurs.
func TestRandom(t *testing.T) {
	models, all := 40, os.Getenv("TVMGO_TEST_ALL") != ""
	if all {
		models = 2000
	}
	seed := testseed.Of(t) % 10000
	dirs := python(t, "generate.py", strconv.FormatUint(seed, 10), strconv.Itoa(models))
	require.GreaterOrEqual(t, len(dirs), models)
	if all {
		found := map[string]int{}
		for _, dir := range dirs {
			f := must.Open(file.Open(filepath.Join(dir, "model.onnx")))(t)
			count(f.Model.Graph.Nodes, found)
		}
		for _, name := range onnx.Operators() {
			require.Equal(t, unmade[name] == "", found[name] > 0, name)
		}
		t.Logf("%d models with %d operators: %v", len(dirs), len(found), found)
	}
	o := conformance.Defaults
	o.Absolute = 1e-3 // elements are at most 100, and onnxruntime adds in another order
	errs := runWith(t, "c", o, dirs)
	for name, err := range errs {
		t.Errorf("%s: %v", name, err)
	}
}

// Models that once failed.
func TestCases(t *testing.T) {
	errs := run(t, "c", python(t, "cases.py"))
	require.Empty(t, errs, fmt.Sprint(errs))
}

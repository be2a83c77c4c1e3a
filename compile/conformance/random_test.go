package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/compile/conformance"
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

// Random models give the results of onnxruntime: operators with random attributes, shapes and types, of operator sets
// from 7 on, with dynamic dimensions in two sizes, and with bodies. With TVMGO_TEST_ALL there are more.
func TestRandom(t *testing.T) {
	count := 60
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		count = 1000
	}
	seed := testseed.Of(t) % 10000
	dirs := python(t, "generate.py", strconv.FormatUint(seed, 10), strconv.Itoa(count))
	o := conformance.Defaults
	o.Absolute = 1e-3 // elements are at most 100, and onnxruntime adds in another order
	errs := runWith(t, "c", o, dirs)
	for name, err := range errs {
		t.Errorf("%s: %v", name, err)
	}
	require.GreaterOrEqual(t, len(dirs), count)
}

// Models that once failed.
func TestCases(t *testing.T) {
	errs := run(t, "c", python(t, "cases.py"))
	require.Empty(t, errs, fmt.Sprint(errs))
}

// Package servetest makes models and servers for tests of package serve.
package servetest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile"
	"tvmgo/export"
	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/must"
	_ "tvmgo/runtime/all"
)

// Library compiles a graph, written as text, to a library.
func Library(t testing.TB, path, text string) {
	t.Helper()
	functions, err := graph.Parse(text, nil)
	require.NoError(t, err)
	c := must.Get(compile.Functions(t.Context(), functions, compile.Options{}))(t)
	defer c.Close()
	require.NoError(t, export.Library(t.Context(), c.Module, path))
}

// Affine is a model with an open first dimension: y = factor * x + offset, exact for small integers.
func Affine(t testing.TB, path string, factor, offset int) {
	t.Helper()
	Library(t, path, fmt.Sprintf(`func main(x: float32[n, 4]) {
  const f: float32[1] = {%d}
  const o: float32[1] = {%d}
  p: float32[n, 4] = mul(x, f)
  y: float32[n, 4] = add(p, o)
  return y
}`, factor, offset))
}

// DTypes are the types of elements that the protocol has, as graphs name them.
var DTypes = []string{"bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
	"bfloat16", "float32", "float64"}

// Copies makes a folder with a model copy_TYPE for each type, whose output y is its input x.
func Copies(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range DTypes {
		Library(t, filepath.Join(dir, "copy_"+d+".so"), strings.ReplaceAll(`func main(x: TYPE[n, m]) {
  y: TYPE[n, m] = identity(x)
  return y
}`, "TYPE", d))
	}
	return dir
}

// Package servetest makes models and certificates for tests of servers.
package servetest

import (
	"fmt"
	"path/filepath"
	"strconv"
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
	"tvmgo/target"
)

// Library compiles a graph, written as text, to a library for targets; without any, for the CPU.
func Library(t testing.TB, path, text string, targets ...string) {
	t.Helper()
	functions, err := graph.Parse(text, nil)
	require.NoError(t, err)
	var o compile.Options
	for _, text := range targets {
		o.Targets = append(o.Targets, must.Get(target.New(text))(t))
	}
	c := must.Get(compile.Functions(t.Context(), functions, o))(t)
	defer c.Close()
	require.NoError(t, export.Library(t.Context(), c.Module, path))
}

// Affine is a model with an open first dimension: y = factor * x + offset, exact for small integers. Targets are those
// of Library.
func Affine(t testing.TB, path string, factor, offset int, targets ...string) {
	t.Helper()
	Library(t, path, fmt.Sprintf(`func main(x: float32[n, 4]) {
  const f: float32[1] = {%d}
  const o: float32[1] = {%d}
  p: float32[n, 4] = mul(x, f)
  y: float32[n, 4] = add(p, o)
  return y
}`, factor, offset), targets...)
}

// Network is a model of two layers, for rows of 64 numbers.
func Network(t testing.TB, path string) {
	t.Helper()
	matrix := func(name string, rows, columns int) string {
		text := fmt.Sprintf("  const %s: float32[%d, %d] = {", name, rows, columns)
		for i := range rows * columns {
			text += strconv.Itoa(i%5-2) + ", "
		}
		return text[:len(text)-2] + "}\n"
	}
	Library(t, path, "func main(x: float32[n, 64]) {\n"+matrix("u", 64, 128)+matrix("v", 128, 16)+
		"  h: float32[n, 128] = matmul(x, u)\n  r: float32[n, 128] = relu(h)\n  y: float32[n, 16] = matmul(r, v)\n"+
		"  return y\n}\n")
}

// LargeColumns is the number of elements that Large returns for each of a request.
const LargeColumns = 256 * 256

// Large is a model with small inputs and large outputs: y[i, j, k] = x[i], 256 KiB for each x.
func Large(t testing.TB, path string) {
	t.Helper()
	zeros := "{0" + strings.Repeat(", 0", 255) + "}"
	Library(t, path, fmt.Sprintf(`func main(x: float32[n, 1, 1]) {
  const r: float32[1, 256, 1] = %s
  const c: float32[1, 1, 256] = %s
  s: float32[n, 256, 1] = add(x, r)
  y: float32[n, 256, 256] = add(s, c)
  return y
}`, zeros, zeros))
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

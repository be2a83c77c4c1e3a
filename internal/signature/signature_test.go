package signature_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/signature"
)

func find(constants ...string) map[string]string {
	var all [][]byte
	for _, c := range constants {
		all = append(all, []byte(c))
	}
	return signature.Find(func(name string) bool { return name == "f" || name == "vadd" }, all...)
}

func TestFind(t *testing.T) {
	for _, text := range []string{
		"f()", "f(n: int32)", "f(p: T.handle)", "f(A: Tensor([], int8))",
		"f(fc1.bias: Tensor([T.int64(32), n * (m + 1)], float32), x: float32)",
	} {
		require.Equal(t, map[string]string{"f": text}, find("noise\x00"+text+"\x00more"))
		require.Equal(t, map[string]string{"f": text}, find(text+"\x00", "again\x00"+text+"\x00"), "at the start, and twice")
	}
	require.Equal(t, map[string]string{"f": "f(a: int8)", "vadd": "vadd(a: int8)"},
		find("f(a: int8)\x00vadd(a: int8)\x00g(a: int8)\x00"))
}

func TestTypes(t *testing.T) {
	require.Empty(t, signature.Types("f()"))
	require.Equal(t, []string{"int32"}, signature.Types("f(n: int32)"))
	require.Equal(t, []string{"Tensor([T.int64(32), n * (m + 1)], float32)", "T.handle"},
		signature.Types("f(fc1.bias: Tensor([T.int64(32), n * (m + 1)], float32), x: T.handle)"))
}

// Texts that are not signatures, or not certainly those of the function.
func TestFind_NoGuess(t *testing.T) {
	for _, data := range []string{
		"", "(", "f(", "f(n: int32)", "f(n: int32\x00", "xf(n: int32)\x00", "a f(n: int32)\x00", "f (n: int32)\x00",
		"f(n)\x00", "f(n: )\x00", "f(: int32)\x00", "f(n: int32,m: int32)\x00", "f(n: int32, )\x00", "f(n: int32) failed\x00",
		"f(%d: %s)\x00",
		"f(n: Tensor(float32))\x00", "f(A: Tensor([n], float32)\x00", "f(x: a b)\x00", "f('x': int32)\x00",
		"f(n: int32)\x00f(n: int64)\x00", "f(n: int32)\x00f(n: int64)\x00f(n: int32)\x00", "f(" + strings.Repeat("n", 1<<17) +
			": int8)\x00",
	} {
		require.Empty(t, find(data), "%.80q", data)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("f(n: int32)\x00")
	f.Fuzz(func(t *testing.T, data string) {
		for name, text := range find(data) {
			require.True(t, strings.HasPrefix(text, name+"(") && strings.Contains(data, text+"\x00"))
		}
	})
}

func TestParameters(t *testing.T) {
	require.Empty(t, signature.Parameters("f()"))
	require.Equal(t, []signature.Parameter{{Name: "fc1.bias", Type: "Tensor([n * (m + 1), 3], int8)"}, {Name: "n",
		Type: "int32"}}, signature.Parameters("f(fc1.bias: Tensor([n * (m + 1), 3], int8), n: int32)"))
}

func TestTensor(t *testing.T) {
	for _, c := range []struct {
		typ   string
		dims  []string
		dtype string
	}{
		{"Tensor([], int8)", nil, "int8"},
		{"Tensor([T.int64(32), n * (m + 1), T.max(n, 2), T.int64(2) * n], float32)",
			[]string{"32", "n * (m + 1)", "T.max(n, 2)", "T.int64(2) * n"}, "float32"},
	} {
		dims, dtype, ok := signature.Tensor(c.typ)
		require.True(t, ok)
		require.Equal(t, c.dims, dims)
		require.Equal(t, c.dtype, dtype)
	}
	for _, typ := range []string{"int32", "T.handle", "Tensor(float32)"} {
		_, _, ok := signature.Tensor(typ)
		require.False(t, ok, typ)
	}
}

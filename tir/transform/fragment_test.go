package transform_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// fragmentText is a kernel of two warps, which hold fragments of a matrix in shared memory.
func fragmentText(body string) string {
	return `
func f(a: handle, c: handle) {
  buffer A: float16[32, 16], param a
  buffer C: float32[32, 16], param c
  thread y in range(2), thread "threadIdx.y" {
    thread x in range(32), thread "threadIdx.x" {
      alloc S: float16[32, 24], scope "shared"
      alloc D: float16[3, 32, 16], scope "shared"
      alloc T: float32[32, 16], scope "shared"
      alloc FA: float16[256], scope "fragment.a"
      alloc F: float32[256], scope "fragment.acc"
` + body + `
    }
  }
}
`
}

const (
	loadFragment = `fragment_load[void](address_of[handle](FA[0]), 16, 16, 16, address_of[handle](S[y * 16, 0]), 24, ` +
		`"row_major")` + "\n"
	storeFragment = `fragment_store[void](address_of[handle](F[0]), 16, 16, 16, address_of[handle](T[y * 16, 0]), 16, ` +
		`"row_major")` + "\n"
)

// Barriers stand between accesses of a warp's matrix by single threads and those of fragments, also of the same warp,
// and not between different matrices or copies of one.
func TestThreadSync_Fragments(t *testing.T) {
	fill := "S[y * 16 + floordiv(x, 2), floormod(x, 2)] = float16(1.0)\n"
	copyOf := func(stage string) string {
		return strings.Replace(loadFragment, "S[y * 16, 0]), 24", "D["+stage+", y * 16, 0]), 16", 1)
	}
	for _, c := range []struct{ body, want string }{
		{fill + loadFragment, "s|f"},
		{loadFragment + fill, "f|s"},
		{loadFragment + storeFragment + loadFragment, "fff"},
		{storeFragment + "C[y * 16, floormod(x, 16)] = T[y * 16, 3]", "f|s"},
		{storeFragment + "C[y * 16, floormod(x, 16)] = 0.0", "fs"},
		{"for k in range(9) {\nD[floormod(k + 2, 3), y * 16, floormod(x, 16)] = float16(1.0)\n" +
			copyOf("floormod(k, 3)") + "}", "for{|sf}"},
		{"for k in range(9) {\nD[floormod(k, 3), y * 16, floormod(x, 16)] = float16(1.0)\n" +
			copyOf("floormod(k, 3)") + "}", "for{|s|f}"},
		{"S[16 * y + floordiv(x, 2), 20] = float16(1.0)\n" + loadFragment, "sf"}, // the padding of rows
	} {
		m := must.Get(transform.ThreadSync(read(t, fragmentText(c.body)), nil))(t)
		got := shape(m)
		require.Equal(t, c.want, got, "%s\n%s", c.body, m)
	}
	for _, body := range []string{"if x < 3 {\n" + loadFragment + "}", "for i in range(x) {\n" + storeFragment + "}"} {
		_, err := transform.ThreadSync(read(t, fragmentText(body)), nil)
		require.ErrorContains(t, err, "all threads of a warp must reach it")
	}
}

// Memory of a matrix that fragments were loaded from is free afterwards.
func TestReuseStorage_Fragments(t *testing.T) {
	m := read(t, fragmentText("S[y * 16 + floordiv(x, 2), floormod(x, 2)] = float16(1.0)\n"+loadFragment+storeFragment+
		"C[y * 16, floormod(x, 16)] = T[y * 16, 3]"))
	m = must.Get(transform.ThreadSync(m, nil))(t)
	m = must.Get(transform.ReuseStorage(m, must.Get(target.New("cuda -arch=sm_80"))(t)))(t)
	code := text.Print(m)
	require.Contains(t, code, "alloc S: float16[32, 24]", "there is no barrier between the accesses")

	m = read(t, fragmentText("S[y * 16 + floordiv(x, 2), floormod(x, 2)] = float16(1.0)\n"+loadFragment+
		"storage_sync[void](\"shared\")\n"+storeFragment+"C[y * 16, floormod(x, 16)] = T[y * 16, 3]"))
	m = must.Get(transform.ThreadSync(m, nil))(t)
	m = must.Get(transform.ReuseStorage(m, must.Get(target.New("cuda -arch=sm_80"))(t)))(t)
	require.Equal(t, 1, strings.Count(text.Print(m), `scope "shared"`)-strings.Count(text.Print(m), "view"), text.Print(m))
}

// The threads of a block are whole warps.
func TestVerifyLimits_Fragments(t *testing.T) {
	m := read(t, strings.Replace(fragmentText(storeFragment), "x in range(32)", "x in range(24)", 1))
	_, err := transform.VerifyLimits(m, must.Get(target.New("cuda -arch=sm_80"))(t))
	require.ErrorContains(t, err, "all threads of a warp execute fragment_store, a block has 48 threads (threadIdx.x 24, "+
		"threadIdx.y 2), and thread_warp_size of target cuda is 32: bind loops whose iterations are a multiple of it")
}

// A language without fragments says so.
func TestVerifyLanguage_Fragments(t *testing.T) {
	m := read(t, fragmentText(storeFragment))
	scopes := []string{"global", "shared", "local"}
	_, err := transform.VerifyLanguage(transform.Language{Name: "L", Scopes: scopes,
		Lacks: map[string]string{"fragment_mma": "L has none: use M"}})(m, nil)
	require.ErrorContains(t, err, `buffer FA in scope "fragment.a": L has none: use M`)
	_, err = transform.VerifyLanguage(transform.Language{Name: "L",
		Scopes: append(scopes, "fragment.a", "fragment.acc")})(m, nil)
	require.ErrorContains(t, err, "intrinsic fragment_store: L has no fragments")
}

// Large buffers share memory at the cost of a barrier, but not in loops and branches.
func TestReuseStorage_Separates(t *testing.T) {
	const first = "S[y * 32 + x] = float16(1.0)\nC[y, floormod(x, 16)] = cast(float32, S[y * 32 + x])\n"
	const second = "T[y * 32 + x] = 2.0\nC[y, floormod(x, 16)] = T[y * 32 + x]\n"
	for body, shares := range map[string]bool{
		first + second: true,
		"for i in range(9) {\n" + first + second + "}":                                 false,
		"if y < 1 {\n" + first + second + "}":                                          false,
		"if y < 1 {\n" + first + "}\n" + second:                                        true,
		strings.Replace(first+second, "C[y", "C[cast(int32, S[5]) + y", 2):             false,
		strings.Replace(first+second, "T[y * 32 + x] = ", "T[y * 32 + x] = 1.0 + ", 1): true,
	} {
		text0 := strings.Replace(fragmentText(body), "alloc S: float16[32, 24]", "alloc S: float16[4096]", 1)
		text0 = strings.Replace(text0, "alloc T: float32[32, 16]", "alloc T: float32[4096]", 1)
		m := must.Get(transform.ThreadSync(read(t, text0), nil))(t)
		before := strings.Count(text.Print(m), "storage_sync")
		m = must.Get(transform.ReuseStorage(m, must.Get(target.New("cuda -arch=sm_80"))(t)))(t)
		code := text.Print(m)
		require.Equal(t, shares, strings.Contains(code, "buffer_view"), code)
		require.Equal(t, shares, strings.Count(code, "storage_sync") > before, code)
	}
}

package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// parsed returns a program of one function with the given body, which may read and write buffer out of 64 elements of
// type int32.
func parsed(t testing.TB, body string) *tir.PrimFunc {
	t.Helper()
	m, err := text.Parse("func f(out_tensor: handle, n: int32) {\nbuffer out: int32[64], param out_tensor\n" + body +
		"\n}")
	require.NoError(t, err, body)
	require.NoError(t, tir.Check(m), body)
	return m.Funcs[0]
}

// ranBody returns the output of a program of parsed.
func ranBody(t testing.TB, f *tir.PrimFunc, order uint64) []int32 {
	t.Helper()
	p, err := tirrun.Compile(&tir.IRModule{Funcs: []*tir.PrimFunc{f}},
		tirrun.Options{Seed: order, Funcs: map[string]func([]any) (any, error){
			"keep": func([]any) (any, error) { return nil, nil }}})
	require.NoError(t, err, text.Print(f))
	out := must.Get(tirrun.New(tir.Int32, 64))(t)
	_, err = p.Call("f", out, 40)
	require.NoError(t, err, text.Print(f))
	return must.Get(tirrun.Values[int32](out))(t)
}

// fill and take return statements that write all elements of a buffer, and that add them to the result.
func fill(b string, n string, value string) string {
	return fmt.Sprintf("for i_%s in range(%s) { %[1]s[i_%[1]s] = %[3]s }\n", b, n,
		strings.ReplaceAll(value, "$", "i_"+b))
}

func take(b, n string) string {
	return fmt.Sprintf("for o_%s in range(%s) { out[floormod(o_%[1]s, 64)] = out[floormod(o_%[1]s, 64)] * 3 + "+
		"cast(int32, %[1]s[o_%[1]s]) }\n", b, n)
}

// TestReuseStorage has buffers that are shared, and buffers that must not be. Each case has the number of allocations
// that remain, and the bytes of those with a constant size.
func TestReuseStorage(t *testing.T) {
	kernel := func(sync, end string) string {
		return `thread bx in range(2), thread "blockIdx.x" {
  alloc s: int32[8], scope "shared"
  alloc d: int32[8], scope "shared"
  thread tx in range(8), thread "threadIdx.x" {
    for k in range(3) {
      s[tx] = tx + k
      storage_sync("shared")
      out[bx * 32 + tx * 2] = s[7 - tx]
      ` + sync + `
      d[tx] = tx * 2 + k
      storage_sync("shared")
      out[bx * 32 + tx * 2 + 1] = d[7 - tx]
      ` + end + `
    } } }`
	}
	inThread := func(sync, end string) string { // allocated where the threads are
		s := kernel(sync, end)
		for _, b := range []string{"s", "d"} {
			s = strings.Replace(s, "  alloc "+b+": int32[8], scope \"shared\"\n", "", 1)
		}
		return strings.Replace(s, "for k in range(3) {",
			"for k in range(3) {\nalloc s: int32[8], scope \"shared\"\nalloc d: int32[8], scope \"shared\"", 1)
	}
	sync := `storage_sync("shared")`
	chain := "alloc a: int32[400]\n" + fill("a", "400", "$") + "alloc b: int32[400]\n" + fill("b", "400", "a[$] * 2") +
		"alloc c: int32[400]\n" + fill("c", "400", "b[$] + 1") + "alloc d: int32[400]\n" +
		fill("d", "400", "c[399 - $]") + take("d", "400")
	for name, c := range map[string]struct {
		body   string
		allocs int
		bytes  int64
		views  int
	}{
		"a chain takes two": {chain, 2, 3200, 0},
		"two at once": {"alloc a: int32[8]\nalloc b: int32[8]\n" + fill("a", "8", "$") +
			fill("b", "8", "a[$]") + take("a", "8") + take("b", "8"), 2, 64, 0},
		"another type": {"alloc a: float32[8]\n" + fill("a", "8", "cast(float32, $)") +
			take("a", "8") + "alloc b: int32[8]\n" + fill("b", "8", "$") + take("b", "8"), 1, 32, 1},
		"a wider type, aligned": {"alloc a: int8[64]\n" + fill("a", "64", "cast(int8, $)") + take("a", "64") +
			"alloc b: float64[8]\n" + fill("b", "8", "cast(float64, $)") + take("b", "8"), 1, 64, 1},
		"a larger one": {"alloc a: int32[8]\n" + fill("a", "8", "$") + take("a", "8") +
			"alloc b: int32[60]\n" + fill("b", "60", "$") + take("b", "60"), 1, 240, 1},
		"side by side": {"alloc a: int32[8] {\n" + fill("a", "8", "$") + take("a", "8") +
			"}\nalloc b: int32[8] {\n" + fill("b", "8", "$") + take("b", "8") + "}", 1, 32, 0},
		"side by side, three": {"alloc a: int32[8] {\n" + fill("a", "8", "$") + take("a", "8") +
			"}\nalloc b: int32[8] {\n" + fill("b", "8", "$") + take("b", "8") + "}\nalloc c: int32[8] {\n" +
			fill("c", "8", "$") + take("c", "8") + "}", 1, 32, 0},
		"of equal unknown sizes": {"alloc a: int32[n]\n" + fill("a", "n", "$") + take("a", "n") +
			"alloc b: int32[n]\n" + fill("b", "n", "$") + take("b", "n"), 1, 0, 0},
		"smaller for certain": {"alloc a: int32[n * 2]\n" + fill("a", "n * 2", "$") + take("a", "n") +
			"alloc b: int32[n]\n" + fill("b", "n", "$") + take("b", "n"), 1, 0, 1},
		"perhaps larger": {"alloc a: int32[n]\n" + fill("a", "n", "$") + take("a", "n") +
			"alloc b: int32[n * 2]\n" + fill("b", "n * 2", "$") + take("b", "n"), 2, 0, 0},
		"other scopes": {"alloc a: int32[8]\n" + fill("a", "8", "$") + take("a", "8") +
			"alloc b: int32[8], scope \"local\"\n" + fill("b", "8", "$") + take("b", "8"), 2, 64, 0},
		"registers of another type": {"alloc a: float32[8], scope \"local\"\n" + fill("a", "8", "1.0") +
			take("a", "8") + "alloc b: int32[8], scope \"local\"\n" + fill("b", "8", "$") + take("b", "8"), 2, 64, 0},
		"a small one and a large one": {"alloc a: int32[8]\n" + fill("a", "8", "$") + take("a", "8") +
			"alloc b: int32[800]\n" + fill("b", "800", "$") + take("b", "800"), 2, 3232, 0},
		"carried by a loop": {"alloc a: int32[8]\nalloc b: int32[8]\n" + fill("a", "8", "$") +
			"for k in range(3) {\n" + fill("b", "8", "a[$] + k") + fill("a", "8", "b[7 - $]") + "}\n" +
			take("b", "8"), 2, 64, 0},
		"within each iteration": {"for k in range(3) {\nalloc a: int32[8]\n" + fill("a", "8", "$ + k") +
			take("a", "8") +
			"alloc b: int32[8]\n" + fill("b", "8", "$ * k") + take("b", "8") + "}", 1, 32, 0},
		"within parallel iterations": {"parallel k in range(3) {\nalloc a: int32[8]\n" + fill("a", "8", "$ + k") +
			"alloc b: int32[8]\n" + fill("b", "8", "a[$] * k") +
			"alloc c: int32[8]\n" + fill("c", "8", "b[$] * k") + "out[k] = c[7]\n}", 2, 64, 0},
		"read by parallel iterations": {"alloc a: int32[8]\n" + fill("a", "8", "$") +
			"parallel k in range(8) { out[k] = a[k] }\nalloc b: int32[8]\n" + fill("b", "8", "$") + take("b", "8"), 1,
			32, 0},
		"in both branches": {"if n > 3 {\nalloc a: int32[8]\n" + fill("a", "8", "$") + take("a", "8") +
			"alloc b: int32[8]\n" + fill("b", "8", "$") + take("b", "8") + "} else {\nout[0] = 1\n}", 1, 32, 0},
		"double buffers": {"alloc a: int32[8]\nattr \"double_buffer_scope\" buffer a = 1\n" +
			fill("a", "8", "$") + take("a", "8") + "alloc b: int32[8]\n" + fill("b", "8", "$") + take("b", "8"), 2,
			64, 0},
		"an address that is kept": {"alloc a: int32[8], data pa: handle\n" + fill("a", "8", "$") +
			"extern keep(pa)\nalloc b: int32[8]\n" + fill("b", "8", "$") + take("b", "8"), 2, 64, 0},
		"an address that a variable has": {"alloc a: int32[8], data pa: handle\n" + fill("a", "8", "$") +
			"let p = pa\nalloc b: int32[8]\n" + fill("b", "8", "$") + "extern keep(p)\n" + take("b", "8"), 2, 64, 0},
		"the address of an element": {"alloc a: int32[8]\n" + fill("a", "8", "$") +
			"let p = address_of[handle](a[0])\nalloc b: int32[8]\n" + fill("b", "8", "$") + "extern keep(p)\n" +
			take("b", "8"), 2, 64, 0},
		"views of it": {"alloc a: int32[8], data pa: handle\n" + fill("a", "8", "$") +
			"buffer v: int32[2, 4], data pa\nattr \"buffer_view\" buffer v = pa\n" + "alloc b: int32[8]\n" +
			fill("b", "8", "$") + take("b", "8") + "out[1] = v[1, 2]\n", 2, 64, 0},
		"of less than a byte": {"alloc a: int4[16]\n" + fill("a", "16", "cast(int4, floormod($, 7))") +
			take("a", "16") + "alloc b: int32[2]\n" + fill("b", "2", "$") + take("b", "2"), 2, 16, 0},
		"behind less than a byte": {"alloc a: int32[2]\n" + fill("a", "2", "$") + take("a", "2") +
			"alloc b: int4[16]\n" + fill("b", "16", "cast(int4, floormod($, 7))") + take("b", "16"), 2, 16, 0},
		"of other strides": {"alloc a: int32[4, 4], strides [4, 1]\na[1, 2] = 5\nout[0] = a[1, 2]\nalloc b: " +
			"int32[4, 4], strides [1, 4]\nb[1, 2] = 6\nb[2, 1] = 7\nout[1] = b[1, 2]", 1, 64, 1},
		"of the same strides": {"alloc a: int32[4, 4], strides [1, 4]\na[1, 2] = 5\nout[0] = a[1, 2]\nalloc b: " +
			"int32[4, 4], strides [1, 4]\nb[1, 2] = 6\nout[1] = b[1, 2]", 1, 64, 0},
		"nothing touches it":                        {"alloc a: int32[8]\nout[0] = 7", 0, 0, 0},
		"threads that wait":                         {inThread(sync, sync), 1, 32, 0},
		"threads that don't":                        {inThread("", sync), 2, 64, 0},
		"threads without a barrier in an iteration": {inThread(sync, ""), 2, 64, 0},
		"of the block":                              {kernel(sync, sync), 2, 64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := parsed(t, c.body)
			g := oneFunc(t, transform.ReuseStorage, f)
			for order := range uint64(3) {
				require.Equal(t, ranBody(t, f, order), ranBody(t, g, order), text.Print(g))
			}
			bytes, _, count := allocated(g.Body)
			views := strings.Count(text.Print(g), `attr "buffer_view"`) - strings.Count(text.Print(f),
				`attr "buffer_view"`)
			require.Equal(t, c.allocs, count, text.Print(g))
			require.Equal(t, c.bytes, bytes, text.Print(g))
			require.Equal(t, c.views, views, text.Print(g))
			again := oneFunc(t, transform.ReuseStorage, g)
			_, _, count = allocated(again.Body)
			require.Equal(t, c.allocs, count)
		})
	}
}

// Small buffers on a CPU do not share memory: the compiler keeps each in registers.
func TestReuseStorage_SmallOnesOfCPUs(t *testing.T) {
	two := func(n string) *tir.PrimFunc {
		return parsed(t, "alloc a: int32["+n+"]\n"+fill("a", n, "$")+take("a", n)+"alloc b: int32["+n+"]\n"+fill("b",
			n, "$")+take("b", n))
	}
	for source, small := range map[string]int{"c": 2, "llvm": 2, "opencl": 1} {
		tgt := must.Get(target.New(source))(t)
		for n, want := range map[string]int{"8": small, "256": small, "257": 1} {
			out := must.Get(transform.ReuseStorage(&tir.IRModule{Funcs: []*tir.PrimFunc{two(n)}}, tgt))(t)
			_, _, count := allocated(out.Funcs[0].Body)
			require.Equal(t, want, count, "%s, %s", source, n)
		}
	}
}

// In a language whose shared memory keeps the width of its elements, only buffers of equal width share it.
func TestReuseStorage_FixedShared(t *testing.T) {
	for types, want := range map[string][2]int{"int32 float32": {1, 1}, "float16 float32": {1, 2}, "bool int8": {1, 1},
		"int64 int32": {1, 2}} {
		a, b, _ := strings.Cut(types, " ")
		f := parsed(t, fmt.Sprintf("alloc a: %s[8], scope \"shared\"\n%salloc b: %s[8], scope \"shared\"\n%s", a,
			fill("a", "8", "cast("+a+", $)")+take("a", "8"), b, fill("b", "8", "cast("+b+", $)")+take("b", "8")))
		for n, l := range []transform.Language{{}, {FixedShared: true}} {
			_, _, count := allocated(oneFunc(t, l.ReuseStorage(), f).Body)
			require.Equal(t, want[n], count, "%s, %v", types, l.FixedShared)
		}
	}
}

// Shared memory gets the larger alignment.
func TestReuseStorage_Alignment(t *testing.T) {
	f := parsed(t, "alloc a: int8[64]\n"+fill("a", "64", "cast(int8, $)")+take("a",
		"64")+"alloc b: float64[8], align 32\n"+fill("b", "8", "1.0")+take("b", "8"))
	require.Contains(t, text.Print(oneFunc(t, transform.ReuseStorage, f)),
		"alloc a: int8[64], data a: handle, align 32\n")
}

//go:build cuda

package cuda_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
)

// fragmentCase is a product of two warps, which compute one tile each, of operands in memory of some scope.
type fragmentCase struct {
	operand, sum tir.Type
	n, k         int
	a, b, c      string // layouts
	scope        string // of the operands
	pad          int    // elements between rows
	constant     bool   // the second tile is filled by a constant
}

func (c fragmentCase) String() string { return fmt.Sprintf("%+v", struct{ fragmentCase }{c}) }

// program returns the program: C[y] = 1 + A[y]·B, and the shapes of A, B and C.
func (c fragmentCase) program() (code string, a, b, sums [2]int64) {
	shape := func(rows, columns int, layout string) (outer, inner int) {
		if layout == tir.ColMajor {
			rows, columns = columns, rows
		}
		return rows, columns
	}
	ar, ac := shape(16, 2*c.k, c.a)
	br, bc := shape(2*c.k, c.n, c.b)
	cr, cc := shape(16, c.n, c.c)
	at := func(rows bool, step string) string { // the tile at step along k
		if rows {
			return step + ", 0"
		}
		return "0, " + step
	}
	one := map[tir.Type]string{tir.Int32: "1", tir.Float32: "1.0", tir.Float16: "float16(1.0)"}[c.sum]
	inA, inB := "A", "B"
	load := ""
	alloc := ""
	if c.scope != "global" {
		inA, inB = "SA", "SB"
		alloc = fmt.Sprintf("alloc SA: T[2, %d, %d], scope \"%s\"\nalloc SB: T[%d, %d], scope \"%s\"\n", ar, ac+c.pad,
			c.scope, br, bc+c.pad, c.scope)
		load = fmt.Sprintf("for i in range(%d) {\nif i * 32 + x < %d {\nSA[y, floordiv(i * 32 + x, %d), "+
			"floormod(i * 32 + x, %d)] = A[y, floordiv(i * 32 + x, %d), floormod(i * 32 + x, %d)]\n}\n}\n"+
			"for i in range(%d) {\nif i * 64 + y * 32 + x < %d {\nSB[floordiv(i * 64 + y * 32 + x, %d), floormod(i * 64 + "+
			"y * 32 + x, %d)] = B[floordiv(i * 64 + y * 32 + x, %d), floormod(i * 64 + y * 32 + x, %d)]\n}\n}\n",
			(ar*ac+31)/32, ar*ac, ac, ac, ac, ac, (br*bc+63)/64, br*bc, bc, bc, bc, bc)
	} else {
		c.pad = 0
	}
	call := func(name, rest string) string {
		return fmt.Sprintf("%s[void](address_of[handle](%s\n", name, strings.Replace(rest, "SHAPE",
			fmt.Sprintf("16, %d, %d", c.n, c.k), 1))
	}
	code = fmt.Sprintf(`
func product(a: handle, b: handle, c: handle) {
  buffer A: T[2, %d, %d], param a
  buffer B: T[%d, %d], param b
  buffer C: S[2, %d, %d], param c
  thread y in range(2), thread "threadIdx.y" {
    thread x in range(32), thread "threadIdx.x" {
`, ar, ac, br, bc, cr, cc) + alloc + fmt.Sprintf("alloc FA: T[2, %d], scope \"fragment.a\"\nalloc FB: T[%d], "+
		"scope \"fragment.b\"\nalloc F: S[2, %d], scope \"fragment.acc\"\n", 16*c.k, c.n*c.k, 16*c.n) + load +
		`storage_sync[void]("shared")` + "\n" +
		call("fragment_fill", "F[1, 0]), SHAPE, "+one+")") +
		"for k in range(2) {\n" +
		call("fragment_load", fmt.Sprintf("FA[k, 0]), SHAPE, address_of[handle](%s[y, %s]), %d, %q)", inA,
			at(c.a == tir.ColMajor, fmt.Sprintf("k * %d", c.k)), ac+c.pad, c.a)) +
		call("fragment_load", fmt.Sprintf("FB[0]), SHAPE, address_of[handle](%s[%s]), %d, %q)", inB,
			at(c.b == tir.RowMajor, fmt.Sprintf("k * %d", c.k)), bc+c.pad, c.b)) +
		call("fragment_mma", "F[1, 0]), SHAPE, address_of[handle](FA[k, 0]), address_of[handle](FB[0]))") +
		"}\n" +
		call("fragment_store", fmt.Sprintf("F[1, 0]), SHAPE, address_of[handle](C[y, 0, 0]), %d, %q)", cc, c.c)) +
		call("fragment_load", fmt.Sprintf("F[0, 0]), SHAPE, address_of[handle](C[y, 0, 0]), %d, %q)", cc, c.c)) +
		call("fragment_mma", "F[0, 0]), SHAPE, address_of[handle](FA[1, 0]), address_of[handle](FB[0]))") +
		"storage_sync[void](\"shared\")\n" +
		call("fragment_store", fmt.Sprintf("F[0, 0]), SHAPE, address_of[handle](C[y, 0, 0]), %d, %q)", cc, c.c)) +
		"}\n}\n}\n"
	code = strings.NewReplacer(": T[", ": "+c.operand.String()+"[", ": S[", ": "+c.sum.String()+"[").Replace(code)
	return code, [2]int64{int64(ar), int64(ac)}, [2]int64{int64(br), int64(bc)}, [2]int64{int64(cr), int64(cc)}
}

func fragmentCases() (all []fragmentCase) {
	types := []fragmentCase{{operand: tir.Float16, sum: tir.Float32, k: 16},
		{operand: tir.Float16, sum: tir.Float16, k: 16},
		{operand: tir.BFloat16, sum: tir.Float32, k: 16}, {operand: tir.Float32, sum: tir.Float32, k: 8},
		{operand: tir.Int8, sum: tir.Int32, k: 32}, {operand: tir.UInt8, sum: tir.Int32, k: 16}}
	layouts := []string{tir.RowMajor, tir.ColMajor}
	for _, c := range types {
		for i := range 16 {
			c.n, c.a, c.b, c.c = 16-8*(i&1), layouts[i>>1&1], layouts[i>>2&1], layouts[i>>3]
			c.scope, c.pad = []string{"shared", "shared", "shared.dyn", "global"}[(i+i>>2)%4], []int{16, 0, 3}[i%3]
			all = append(all, c)
		}
	}
	return all
}

// Products of all types, layouts and scopes of memory are those of the interpreter, and every architecture's compiler
// accepts them.
func TestExecute_Fragments(t *testing.T) {
	r := testseed.Rand(t)
	for cases := range slices.Chunk(fragmentCases(), 16) { // of one type
		all, operand := "", cases[0].operand
		for i, c := range cases {
			text, _, _, _ := c.program()
			all += strings.Replace(text, "func product", fmt.Sprintf("func product%d", i), 1)
		}
		m := parsed(t, all)
		lib := loaded(t, m)
		for i, c := range cases {
			_, a, b, sums := c.program()
			out := must.Get(tirrun.New(c.sum, 2, sums[0], sums[1]))(t)
			same(t, lib, m, fmt.Sprintf("product%d", i), map[tir.Type]float64{tir.Float16: 1e-2, tir.Float32: 1e-6}[c.sum],
				array(t, r, c.operand, 2, a[0], a[1]), array(t, r, c.operand, b[0], b[1]), out)
		}
		code := source(t, m)
		for _, arch := range archs[1:] { // fragments need sm_75
			if arch != "sm_75" || operand == tir.Float16 || operand == tir.Int8 || operand == tir.UInt8 {
				compiled(t, code, arch)
			}
		}
	}
}

// Rows that begin at multiples of 16 bytes are loaded by ldmatrix, others element by element.
func TestEmit_FragmentLoads(t *testing.T) {
	code := func(c fragmentCase) string {
		text, _, _, _ := c.program()
		return source(t, parsed(t, text))
	}
	c := fragmentCase{operand: tir.Float16, sum: tir.Float32, n: 16, k: 16, a: tir.RowMajor, b: tir.RowMajor,
		c: tir.RowMajor, scope: "shared", pad: 8}
	require.Contains(t, code(c), "tvmgo_ldmatrix<4, true, false>(")
	require.Contains(t, code(c), "tvmgo_ldmatrix<4, true, true>(")
	require.Contains(t, code(c), "tvmgo_mma_f16_f32<2>(F + 8, FA + (k * 256) / 64, FB + 0)")
	c.a, c.b = tir.ColMajor, tir.ColMajor
	require.Contains(t, code(c), "tvmgo_ldmatrix<4, false, false>(")
	require.Contains(t, code(c), "tvmgo_ldmatrix<4, false, true>(")
	c.pad = 3
	require.NotContains(t, code(c), "tvmgo_ldmatrix")
	c.pad, c.scope = 8, "global"
	require.NotContains(t, code(c), "tvmgo_ldmatrix")
}

// What an architecture lacks is an error that names one that has it.
func TestBuild_FragmentErrors(t *testing.T) {
	for _, x := range []struct {
		c    fragmentCase
		arch string
		want string
	}{
		{fragmentCase{operand: tir.BFloat16, sum: tir.Float32, n: 16, k: 16}, "sm_75",
			`tensor cores compute with bfloat16 from sm_80 on, and the target has arch sm_75: build for a later one, as in ` +
				`{"kind": "cuda", "arch": "sm_80"}`},
		{fragmentCase{operand: tir.Float16, sum: tir.Float32, n: 16, k: 16}, "sm_60", "from sm_75 on"},
		{fragmentCase{operand: tir.Float16, sum: tir.Float32, n: 32, k: 16}, "sm_90", "8 or 16 columns, found m 16 and n 32"},
		{fragmentCase{operand: tir.Int8, sum: tir.Int32, n: 16, k: 64}, "sm_90", "products of int8 with k 16 32, found 64"},
	} {
		c := x.c
		c.a, c.b, c.c, c.scope = tir.RowMajor, tir.RowMajor, tir.RowMajor, "global"
		text, _, _, _ := c.program()
		_, err := codegen.Build(parsed(t, text), onDevice(t, x.arch))
		require.ErrorContains(t, err, x.want)
	}
}

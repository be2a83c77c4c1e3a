package tirunknown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/internal/testing/tirunknown"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/alias"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// program returns a module with one function over tensors A and B, with the given body.
func program(t *testing.T, body string) *tir.IRModule {
	m, err := text.Parse("func f(A: handle, B: handle, n: int32) {\n  buffer A: int32[64], param A\n" +
		"  buffer B: int32[8, 8], param B\n" + body + "\n}")
	require.NoError(t, err, body)
	require.NoError(t, tir.Check(m), body)
	return m
}

const (
	blocks  = `thread b in range(2), thread "blockIdx.x" { `
	threads = `thread t in range(32), thread "threadIdx.x" { `
	shared  = `alloc s: int32[32], scope "shared"; `
)

// How passes handle unknown nodes in kernels, in memory and of narrow types: the returned program, or the error,
// contains want, once or as often as count requires.
func TestPasses_OfUnknownNodes(t *testing.T) {
	cpu, err := target.New("c")
	require.NoError(t, err)
	checked, err := target.New("c -bounds-check=1")
	require.NoError(t, err)
	device, err := target.New("opencl")
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		pass  transform.Pass
		to    *target.Target
		body  string
		want  string
		count int
	}{
		{"an opaque statement may use all shared memory", transform.ThreadSync, device,
			blocks + threads + shared + "s[t] = A[t]; tir.Event(note=t); A[t + b * 32] = s[t] } }", "storage_sync", 2},
		{"an opaque expression may use all shared memory", transform.ThreadSync, device,
			blocks + threads + shared + "s[t] = A[t]; eval tir.Value(a=t); A[t + b * 32] = s[t] } }", "storage_sync", 2},
		{"a pure expression uses none", transform.ThreadSync, device,
			blocks + threads + shared + "s[t] = tir.Pure(a=t); A[t + b * 32] = s[tir.Pure(a=t)] } }", "storage_sync", 1},
		{"an opaque condition is not the same for all threads", transform.ThreadSync, device,
			blocks + threads + shared + `s[t] = A[t]; if tir.Value(a=n) > 1 { storage_sync("shared"); A[t] = s[31 - t] } } }`,
			"not the same for all threads of a block", 1},
		{"the index of a thread that a field names", transform.ThreadSync, device,
			blocks + threads + "tir.Event(note=1, v=t) } }", "tir.Event(note=1, v=t)", 1},
		{"statements within an opaque one", transform.ThreadSync, device,
			blocks + threads + "tir.Block(count=2, var=i: int32, buffer={m: int32[1], scope \"local\"}) body { A[t] = i } } }",
			"Block has statements within, in a kernel", 1},
		{"an opaque statement for a block", transform.ThreadSync, device,
			blocks + "tir.Event(note=1); " + threads + "A[t] = t } }", "Event stands outside of the loops over threads", 1},
		{"an opaque expression for a block", transform.ThreadSync, device,
			blocks + "let x = tir.Value(a=1); " + threads + "A[t] = x } }", "Value stands outside of the loops over threads", 1},
		{"loops over threads within an opaque statement", transform.ThreadSync, device,
			blocks + "tir.Block(count=2, var=i: int32, buffer={m: int32[1], scope \"local\"}) body { " + threads +
				"A[t] = i } } }", "Block stands outside of the loops over threads", 1},
		{"virtual threads", transform.ThreadSync, device,
			threads + `thread v in range(2), thread "vthread.x" { tir.Event(note=v) } }`, "Event stands in loop v", 1},
		{"on the host", transform.SplitHostDevice, device,
			"tir.Event(note=1); " + blocks + "A[b] = 1 }", "Event is a statement of the host", 1},
		{"computed by the host", transform.SplitHostDevice, device,
			"let x = tir.Value(a=n); " + blocks + "A[b] = x }", "Value is computed by the host", 1},
		{"arguments of a kernel", transform.SplitHostDevice, device,
			blocks + "tir.Event(note=1, v=n, buffer=B, at=[b, b]) }", "tir.Event(note=1, v=n, buffer=B, at=[b, b])", 1},
		{"memory of the device", transform.VerifyMemory, device,
			"tir.Event(note=1, buffer=A, at=[0])", "buffer A, in memory of opencl, is named by the host", 1},
		{"checks of indices", transform.CheckBounds, checked,
			"tir.Event(note=A[n], buffer=A, at=[n])", "Event names buffer A", 1},
		{"checks of indices in an opaque node", transform.CheckBounds, checked,
			"tir.Event(note=A[n])", "check_index", 1},
		{"a buffer of two dimensions", transform.FlattenStorage, cpu,
			"tir.Event(note=1, buffer=B, at=[n, n])", "Event names buffer B", 1},
		{"memory of two dimensions of its own", transform.FlattenStorage, cpu,
			"tir.Block(count=2, var=i: int32, buffer={m: int32[1, 2]}) body { m[0, 0] = i; B[0, 0] = m[0, 0] }",
			"Block names buffer m", 1},
		{"narrow values", transform.LegalizeTypes, cpu,
			"A[0] = cast(int32, tir.Pure(a=cast(int4, n)))", "Pure is of type int4", 1},
		{"narrow values in a statement", transform.LegalizeTypes, cpu,
			"tir.Event(note=cast(int4, n))", "Event computes with type int4", 1},
		{"narrow variables", transform.LegalizeTypes, cpu,
			"let x = cast(int4, n); tir.Event(note=1, v=x)", "Event names variable x of a narrow type", 1},
		{"narrow memory", transform.LegalizeTypes, cpu,
			"alloc m: int4[2]; m[0] = cast(int4, n); tir.Event(note=1, buffer=m, at=[0])",
			"Event names buffer m of type int4", 1},
		{"memory whose address is known", transform.ReuseStorage, device, "alloc m: int32[4096]; m[0] = n; " +
			"tir.Event(note=1, buffer=m, at=[0]); A[0] = m[0]; alloc o: int32[4096]; o[0] = n; A[1] = o[0]", "alloc ", 2},
		{"memory that an opaque node loads", transform.ReuseStorage, device, "alloc m: int32[4096]; m[0] = n; " +
			"A[0] = tir.Value(a=m[0]); alloc o: int32[4096]; o[0] = n; A[1] = o[0]", "alloc ", 2},
		{"memory that a pure node loads", transform.ReuseStorage, device, "alloc m: int32[4096]; m[0] = n; " +
			"A[0] = tir.Pure(a=m[0]); alloc o: int32[4096]; o[0] = n; A[1] = o[0]", "alloc ", 1},
		{"memory that is used", transform.ReuseStorage, device,
			"alloc m: int32[4096]; tir.Event(note=1, buffer=m, at=[0])", "alloc m", 1},
		{"memory within an opaque statement", transform.ReuseStorage, device,
			"tir.Block(count=2, var=i: int32, buffer={k: int32[1]}) body { alloc m: int32[4096] { m[0] = i; A[0] = m[0] } " +
				"alloc o: int32[4096] { o[0] = i; A[1] = o[0] } }", "alloc ", 1},
		{"a variable that a field names", arith.Simplify, cpu, "let x = n + 1; tir.Event(note=1, v=x)", "v=x", 1},
		{"a loop of one iteration whose variable a field names", arith.Simplify, cpu,
			"for x in range(3, count=1) { tir.Event(note=1, v=x) }", "let x = 3", 1},
		{"an opaque value that is not used", arith.Simplify, cpu, "eval tir.Value(a=n)", "tir.Value", 1},
		{"a pure value that is not used", arith.Simplify, cpu, "eval tir.Pure(a=n)", "tir.Pure", 0},
		{"the difference of opaque values", arith.Simplify, cpu,
			"eval let x = tir.Value(a=n) in x; A[0] = 0 * tir.Value(a=n)", "tir.Value", 2},
		{"what is within", arith.Simplify, cpu, "tir.Event(note=n + 2 - n)", "tir.Event(note=2)", 1},
		{"a variable of an unrolled loop", transform.Unroll, cpu,
			"unrolled x in range(2) { tir.Event(note=1, v=x) }", "v=x", 2},
		{"a value of which nothing else is left", transform.LoopPartition, cpu,
			"for x in range(8) { let y = tir.Value(a=x); if likely(x < 4) { A[x] = y } }", "tir.Value", 2},
		{"lanes", transform.Vectorize, cpu, "vectorized x in range(8) { A[x] = tir.Pure(a=x) }", "for x in range(8)", 1},
	} {
		m := program(t, c.body)
		passed, err := c.pass(m, c.to)
		if err != nil {
			require.ErrorContains(t, err, c.want, c.name)
			if strings.Contains(err.Error(), "does not know") {
				require.ErrorContains(t, err, "lower it before", c.name)
			}
			continue
		}
		require.NoError(t, tir.Check(passed), "%s:\n%s", c.name, text.Print(passed))
		require.Equal(t, c.count, strings.Count(text.Print(passed), c.want), "%s:\n%s", c.name, text.Print(passed))
	}
}

// If the language lacks a vector type, a vector is not split if this would compute an opaque value several times.
func TestSplitVectors_OfOpaqueValues(t *testing.T) {
	m := program(t, "A[ramp(0, 1, 8)] = broadcast(tir.Value(a=n), 8)")
	passed, err := transform.SplitVectors(language)(m, nil)
	require.NoError(t, err)
	require.Same(t, m, passed)
	passed, err = transform.SplitVectors(language)(program(t, "A[ramp(0, 1, 8)] = broadcast(tir.Pure(a=n), 8)"), nil)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(text.Print(passed), "tir.Pure"))
}

// A function with an opaque node may read and write all its tensors at that point.
func TestAliasPairs_OfOpaqueNodes(t *testing.T) {
	for body, want := range map[string][]alias.Pair{
		"for i in range(8) { A[i] = B[i, i] }": {{First: 0, Second: 1, FirstWritten: true}},
		"A[0] = n":                             nil,
		"A[0] = tir.Pure(a=n)":                 nil,
		"A[0] = tir.Value(a=n)":                {{First: 0, Second: 1, FirstWritten: true, SecondWritten: true}},
		"tir.Event(note=1)":                    {{First: 0, Second: 1, FirstWritten: true, SecondWritten: true}},
		"tir.Event(note=1); A[0] = n":          {{First: 0, Second: 1, FirstWritten: true, SecondWritten: true}},
		"if n > 1 { tir.Event(note=1) }":       {{First: 0, Second: 1, FirstWritten: true, SecondWritten: true}},
		"tir.Block(count=1, var=i: int32, buffer={m: int32[1]}) body { }": {{First: 0, Second: 1, FirstWritten: true,
			SecondWritten: true}},
	} {
		m := program(t, body)
		require.Equal(t, want, alias.Pairs(m, m.Funcs[0]), body)
	}
}

// Accesses in unknown nodes are listed like others.
func TestUnproven_InUnknownNodes(t *testing.T) {
	all := transform.Unproven(program(t, "tir.Event(note=A[n]); "+
		"tir.Block(count=B[n, 0], var=i: int32, buffer={m: int32[1]}) body { A[i] = tir.Pure(a=A[n]) }"))
	var found []string
	for _, a := range all {
		found = append(found, a.Path)
	}
	require.Equal(t, []string{"body[0].note.indices[0]", "body[1].count.indices[0]", "body[1].body.value.a.indices[0]",
		"body[1].body.indices[0]"}, found)
}

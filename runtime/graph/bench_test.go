package graph_test

import (
	"testing"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/value"
)

// BenchmarkRun measures a run of graph_mlp, which has three nodes.
func BenchmarkRun(b *testing.B) {
	m := loadMLP(b)
	s := session(b, m.Module, cpu)
	call(b, s, "set_input", "data", m.in)
	run := must.Open(must.Open(s.Function("run"))(b).Bind())(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := run.Call(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNodes measures a run of 1000 nodes that call a function of four elements; divide by 1000 for the cost of a
// node.
func BenchmarkNodes(b *testing.B) {
	lib := modules.Load(b, artifacts+"addone_llvm.so")
	const count = 1000
	nodes := []node{{name: "x", out: f32(0, 4)}}
	for i := range count {
		nodes = append(nodes, node{name: "n", fn: "addone", in: []ref{{i, 0}}, out: f32(1+i%2, 4)})
	}
	s := create(b, graphText(b, nodes, ref{count, 0}), lib, dlpack.Device{Type: dlpack.CPU})
	x := modules.Tensor(b, []float32{1, 2, 3, 4})
	call(b, s, "set_input", "x", x)
	run := must.Open(must.Open(s.Function("run"))(b).Bind())(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := run.Call(); err != nil {
			b.Fatal(err)
		}
	}
	if got := output[float32](b, s, 0)[0]; got != 1+count {
		b.Fatal(got)
	}
}

// BenchmarkModel measures a call of the same graph as a model, with new memory for its result.
func BenchmarkModel(b *testing.B) {
	m := loadMLP(b)
	f := must.Open(open(b, m.Module, cpu).Function("default"))(b)
	b.ReportAllocs()
	for b.Loop() {
		out, err := f.Call(m.in)
		if err != nil {
			b.Fatal(err)
		}
		value.Close(out)
	}
}

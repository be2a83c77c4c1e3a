package modulekind

// Graphs of TVM's graph executor with their parameters; the second name is that of TVM before v0.8.
var (
	_ = register(Kind{Name: "GraphExecutorFactory", Form: GraphText, Import: "tvmgo/runtime/graph"})
	_ = register(Kind{Name: "GraphRuntimeFactory", Form: GraphText, Import: "tvmgo/runtime/graph"})
)

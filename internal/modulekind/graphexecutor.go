package modulekind

const noGraphExecutor = "this version cannot run graph executor files: run them with Apache TVM, or export the " +
	"functions alone, without the graph"

var (
	_ = register(Kind{Name: "GraphExecutorFactory", Form: GraphText, Unsupported: noGraphExecutor})
	_ = register(Kind{Name: "GraphRuntimeFactory", Form: GraphText, Unsupported: noGraphExecutor})
)

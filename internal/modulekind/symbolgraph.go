package modulekind

// Libraries for accelerators, such as DNNL ("dnnl_json"), get their part of a program as a graph.
var (
	_ = register(Kind{Name: "_json", Form: SymbolGraph, Family: true})
	_ = register(Kind{Name: "tensorrt", Form: SymbolGraph})
)

package blob

import (
	"strings"

	"tvmgo/internal/modulekind"
)

// formScanners contains a scanner for each form of payload that TVM up to v0.21 could write into a legacy blob. The
// comment of each function below lists the fields of the form.
var formScanners = map[modulekind.Form]Scanner{
	modulekind.Device:      scanDeviceModule,
	modulekind.Shaders:     scanVulkan,
	modulekind.Metal:       scanMetal,
	modulekind.Source:      scanCSource,
	modulekind.Object:      scanStaticLibrary,
	modulekind.Constants:   scanConstLoader,
	modulekind.GraphText:   scanGraphFactory,
	modulekind.Program:     scanExecutable,
	modulekind.SymbolGraph: scanSymbolGraph,
}

// format, functions, one image
func scanDeviceModule(r *Reader, layout Layout) error {
	r.Bytes("format")
	r.Functions(layout)
	r.Bytes("device code")
	return r.Err()
}

// format, functions, one shader per function
func scanVulkan(r *Reader, layout Layout) error {
	r.Bytes("format")
	r.Functions(layout)
	r.shaders(false)
	return r.Err()
}

// Since v0.12: version number, one source per function, functions, format. Before: the fields of the other device
// modules.
func scanMetal(r *Reader, layout Layout) error {
	first := r.Str("version or format")
	if !strings.HasPrefix(first, "0.") {
		r.Functions(layout)
		r.Bytes("device code")
		return r.Err()
	}
	for range r.Count(16, "shader sources") {
		r.Bytes("shader name")
		r.Bytes("shader source")
	}
	r.Functions(layout)
	r.Bytes("format")
	return r.Err()
}

func scanCSource(r *Reader, _ Layout) error {
	r.Bytes("source code")
	r.Bytes("format")
	r.skipStrs("function names")
	r.skipStrs("constant names")
	return r.Err()
}

func scanStaticLibrary(r *Reader, _ Layout) error {
	r.Bytes("object file")
	r.skipStrs("function names")
	return r.Err()
}

// names, tensors, then for each symbol the names that its initialization needs
func scanConstLoader(r *Reader, _ Layout) error {
	r.tensors(r.skipStrs("constant names"), "constants")
	symbols := r.skipStrs("symbols")
	at := r.Offset()
	if n := r.Count(8, "constants by symbol"); r.Err() == nil && n != symbols {
		r.failAt(at, "constants by symbol", "%d lists for %d symbols", n, symbols)
	}
	for range symbols {
		r.skipStrs("constants of a symbol")
	}
	return r.Err()
}

// graph, number of parameters, their names, the tensors, the name under which the factory creates executors
func scanGraphFactory(r *Reader, _ Layout) error {
	r.Bytes("graph")
	at := r.Offset()
	n := r.U64("number of parameters")
	names := r.skipStrs("parameter names")
	if r.Err() == nil && n != uint64(names) {
		r.failAt(at, "parameters", "%d parameters and %d names", n, names)
	}
	for range names {
		r.Tensor("parameter")
	}
	r.Bytes("module name")
	return r.Err()
}

func scanExecutable(r *Reader, layout Layout) error {
	r.Program(layout)
	return r.Err()
}

func scanSymbolGraph(r *Reader, _ Layout) error {
	r.Bytes("symbol")
	r.Bytes("graph")
	r.skipStrs("constant names")
	return r.Err()
}

// skipStrs skips a vector of strings and returns their number, 0 after an error.
func (r *Reader) skipStrs(what string) int {
	n := r.Count(8, what)
	for range n {
		r.Bytes(what)
	}
	if r.err != nil {
		return 0
	}
	return n
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// pkg is a package of this module.
type pkg struct {
	Path    string // without the path of the module
	Name    string
	Doc     string   // the first sentence of its comment
	Imports []string // of packages of this module, sorted
	layer   *layer
	testing bool // it imports package testing
}

// graph has all packages that have a file which is not a test, by path.
type graph struct {
	all []*pkg
	of  map[string]*pkg
}

// layer is a group of packages in the diagram and in the table.
type layer struct {
	title string
	id    string   // in the diagram; "" for a layer that is only in the table
	paths []string // of its packages; "dir/..." includes packages below the folder
}

// devicesPath is the package that imports every package of devices.
const devicesPath = "runtime/all"

// devices are the packages of devices, sorted.
func (g *graph) devices() []string {
	p := g.of[devicesPath]
	if p == nil {
		return nil
	}
	return p.Imports
}

// The layers, from the top. A package belongs to the one that names it, or else to the first that has its path.
var (
	beside = &layer{title: "tools and examples", paths: []string{"internal/core/device/devicenames", "build/env",
		"build/sbom", "build/gen/...", "bench/...", "examples/..."}}
	tests  = &layer{title: "tests"} // packages that only tests import
	layers = []*layer{
		beside,
		{title: "C ABI and command", id: "top", paths: []string{"capi", "cmd/..."}},
		{title: "server of models", id: "serve", paths: []string{"serve/..."}},
		{title: "benchmarks", id: "bench", paths: []string{"bench", "bench/custom", "bench/facts", "bench/page",
			"bench/blas", "bench/operators", "bench/stats", "bench/suite"}},
		{title: "compilation of models", id: "compile", paths: []string{"compile/..."}},
		{title: "graphs", id: "graph", paths: []string{"graph", "graph/operators", "graph/onnx", "graph/relax",
			"graph/passes", "graph/lower"}},
		{title: "code generators", id: "codegen", paths: []string{"codegen/..."}},
		{title: "export", id: "export", paths: []string{"export/..."}},
		{title: "devices", id: "devices", paths: []string{devicesPath}}, // and the devices
		{title: "runtime", id: "runtime", paths: []string{"runtime/..."}},
		{title: "expressions and IR", id: "ir", paths: []string{"te/...", "tir/..."}},
		{title: "C core", id: "core", paths: []string{"internal/core/..."}},
		{title: "internal", id: "internal", paths: []string{"internal/..."}},
		{title: "leaves", id: "leaves", paths: []string{"target/...", "blob/...", "codegen/abi", "dlpack", "include",
			"build/include", "profile", "weights", "graph/onnx/file", "trust"}},
	}
)

func (l *layer) has(path string) bool {
	return slices.ContainsFunc(l.paths, func(p string) bool {
		dir, below := strings.CutSuffix(p, "/...")
		return path == dir || below && strings.HasPrefix(path, dir+"/")
	})
}

// rule forbids packages to import others, directly or indirectly.
type rule struct {
	from, not []string
	why       string
}

// rules returns the rules for a graph.
func (g *graph) rules() []rule {
	devices := append([]string{devicesPath}, g.devices()...)
	all := []rule{
		{[]string{"dlpack", "include", "build/include", "internal/fault", "internal/modulekind", "internal/nearest"},
			[]string{"..."}, "they are the leaves"},
		{[]string{"blob/...", "internal/modulekind", "internal/nearest"},
			[]string{"runtime/...", "target/...", "internal/..."}, "files are read without a runtime"},
		{[]string{"profile"}, []string{"runtime/...", "target/...", "internal/core/...", "dlpack"},
			"a trace needs no runtime"},
		{[]string{"weights"}, []string{"runtime/...", "target/...", "internal/core/..."},
			"tensors are read and written without a runtime"},
		{[]string{"trust"}, []string{"runtime/...", "target/...", "internal/core/..."},
			"files are signed and checked without a runtime"},
		{[]string{"graph/onnx/file"}, []string{"runtime/...", "target/...", "tir/...", "te/...", "internal/core/..."},
			"ONNX files are read without knowing operators"},
		{[]string{"target/..."}, []string{"runtime/...", "codegen/...", "tir/...", "te/..."},
			"targets do not depend on devices and code generators"},
		{[]string{"internal/value", "internal/targetvalue", "internal/datamodule", "internal/modelcall"},
			[]string{"runtime/...", "internal/core/..."}, "runtime imports them, and they have no C code"},
		{[]string{"internal/raise", "internal/deviceshim"}, []string{"runtime/...", "blob", "target/..."},
			"runtime imports them"},
		{[]string{"tir/...", "te/..."}, []string{"runtime/...", "codegen/...", "export/..."},
			"programs do not depend on a runtime and code generators"},
		{[]string{"graph/..."}, append([]string{"runtime/...", "codegen/...", "export/...", "compile/..."}, devices...),
			"models are described and lowered without a runtime and code generators"},
		{[]string{"codegen/c"}, []string{"runtime/..."}, "C source is generated without a runtime"},
		{[]string{"codegen/abi"}, []string{"blob", "runtime/...", "target/...", "tir/...", "te/...", "export/..."},
			"code generators and packed kernels share it"},
		{[]string{"export/..."}, []string{"codegen", "codegen/c", "codegen/cuda", "codegen/llvm", "codegen/opencl",
			"codegen/spirv", "tir/...", "te/..."},
			"kernels are packed without a code generator"},
		{[]string{"codegen/...", "export/..."}, devices, "code is generated and exported without a device"},
		{[]string{"serve/queue", "serve/oip", "serve/oip/inference"}, []string{"runtime/...", "internal/core/..."},
			"the protocol and the queue know no models"},
		{[]string{"serve/..."}, append([]string{"tir/...", "te/...", "codegen/...", "export/...", "compile/..."},
			devices...), "a server loads models, and a program decides which devices it has"},
		{[]string{"bench/stats"}, []string{"..."}, "statistics are of numbers alone"},
		{[]string{"bench"}, append([]string{"tir/...", "te/...", "codegen/...", "export/..."}, devices...),
			"operations are measured without knowing them"},
		{[]string{"bench/facts", "bench/suite"}, devices, "a program decides which devices it measures"},
		{[]string{"runtime"}, append([]string{"tir/...", "te/...", "codegen/...", "export/...", "internal/dl"}, devices...),
			"a program that only loads modules contains none of them"},
	}
	for _, d := range g.devices() {
		others := slices.DeleteFunc(slices.Clone(devices), func(path string) bool { return path == d })
		all = append(all, rule{[]string{d}, others, "devices are enabled one by one"})
	}
	return append(all,
		rule{[]string{"internal/inspect", "cmd/tvmgo/internal/unpack"}, []string{"runtime/...", "internal/core/..."},
			"files are inspected without a runtime"},
		rule{[]string{"internal/core/..."},
			[]string{"runtime/...", "blob", "target/...", "tir/...", "te/...", "codegen/...", "export/..."},
			"the core links without the rest"})
}

// matches reports whether a path matches one of a rule's paths.
func matches(paths []string, path string) bool {
	return slices.Contains(paths, "...") || (&layer{paths: paths}).has(path)
}

// load reads the packages of the module at root with go list, for Linux with all drivers.
func load(root string) (*graph, error) {
	cmd := exec.Command("go", "list", "-tags", "cuda,opencl", "-json=ImportPath,Name,Doc,Imports,GoFiles,CgoFiles,Module",
		"./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w\n%s", err, ended.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	g := &graph{of: map[string]*pkg{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Doc      string
			Imports, GoFiles, CgoFiles []string
			Module                     struct{ Path string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if len(p.GoFiles)+len(p.CgoFiles) == 0 {
			continue // only tests
		}
		prefix := p.Module.Path + "/"
		n := &pkg{Path: strings.TrimPrefix(p.ImportPath, prefix), Name: p.Name, Doc: p.Doc,
			testing: slices.Contains(p.Imports, "testing")}
		for _, i := range p.Imports {
			if path, own := strings.CutPrefix(i, prefix); own {
				n.Imports = append(n.Imports, path)
			}
		}
		g.add(n)
	}
	return g, g.arrange()
}

func (g *graph) add(p *pkg) {
	slices.Sort(p.Imports)
	g.all = append(g.all, p)
	g.of[p.Path] = p
}

// arrange assigns each package to a layer.
func (g *graph) arrange() error {
	used := map[string]bool{}
	for _, p := range g.all {
		i := slices.IndexFunc(layers, func(l *layer) bool { return slices.Contains(l.paths, p.Path) })
		if i < 0 {
			i = slices.IndexFunc(layers, func(l *layer) bool {
				return l.has(p.Path) || l.id == "devices" && slices.Contains(g.devices(), p.Path)
			})
		}
		if i < 0 {
			return fmt.Errorf("package %s is in no layer: add it to one in build/gen/packages/graph.go", p.Path)
		}
		p.layer = layers[i]
		if p.layer != beside && !p.testing && !strings.Contains("/"+p.Path, "/internal/") {
			used[p.Path] = true
			for path := range g.reached(p) {
				used[path] = true
			}
		}
	}
	for _, p := range g.all {
		if p.layer != beside && !used[p.Path] {
			p.layer = tests
		}
	}
	return nil
}

// reached returns the direct and indirect imports of a package.
func (g *graph) reached(p *pkg) map[string]bool {
	seen := map[string]bool{}
	var visit func(p *pkg)
	visit = func(p *pkg) {
		for _, path := range p.Imports {
			if q := g.of[path]; q != nil && !seen[path] {
				seen[path] = true
				visit(q)
			}
		}
	}
	visit(p)
	return seen
}

// broken returns the imports that the rules forbid.
func (g *graph) broken() []string {
	var all []string
	for _, p := range g.all {
		for _, r := range g.rules() {
			if !matches(r.from, p.Path) {
				continue
			}
			for path := range g.reached(p) {
				if matches(r.not, path) && !matches(r.from, path) {
					all = append(all, fmt.Sprintf("%s imports %s: %s", p.Path, path, r.why))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// in returns the packages of a layer.
func (g *graph) in(l *layer) []*pkg {
	var all []*pkg
	for _, p := range g.all {
		if p.layer == l {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.Path, b.Path) })
	return all
}

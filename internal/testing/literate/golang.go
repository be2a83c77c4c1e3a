package literate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// packages maps the names of packages that programs may use to their import paths.
var packages = map[string]string{
	"codegen": "tvmgo/codegen", "cpu": "tvmgo/runtime/cpu", "cuda": "tvmgo/runtime/cuda", "dlpack": "tvmgo/dlpack",
	"export": "tvmgo/export", "opencl": "tvmgo/runtime/opencl", "ops": "tvmgo/te/ops", "pack": "tvmgo/export/pack",
	"partition": "tvmgo/target/partition", "runtime": "tvmgo/runtime", "target": "tvmgo/target", "te": "tvmgo/te",
	"tir": "tvmgo/tir", "transform": "tvmgo/tir/transform", "vulkan": "tvmgo/runtime/vulkan", "blob": "tvmgo/blob",
	"compile": "tvmgo/compile", "file": "tvmgo/graph/onnx/file",
	"serve": "tvmgo/serve", "grpc": "google.golang.org/grpc",
	"bench": "tvmgo/bench", "facts": "tvmgo/bench/facts", "page": "tvmgo/bench/page", "suite": "tvmgo/bench/suite",

	"binary": "encoding/binary", "bytes": "bytes", "context": "context", "embed": "embed", "errors": "errors",
	"fmt": "fmt", "fs": "io/fs", "http": "net/http", "net": "net",
	"io": "io", "json": "encoding/json", "log": "log", "math": "math", "os": "os", "slices": "slices", "slog": "log/slog",
	"strings": "strings", "sync": "sync", "time": "time",
}

// goPart is the Go code of one section.
type goPart struct {
	name  string // of the generated function
	code  string // the file
	wants []string
}

var (
	importLine = regexp.MustCompile(`^import (?:([\w_.]+) )?"([^"]+)"$`)
	topLevel   = regexp.MustCompile(`^(func \w|func \(|type )`)
)

// goCode makes a file from the parts of a section: a function with the given name.
func goCode(path, name string, blocks []Block) (*goPart, error) {
	imports := map[string]string{}
	var body, top strings.Builder
	body.WriteString("package main\n\nfunc " + name + "() {\n")
	for _, b := range blocks {
		fmt.Fprintf(&body, "//line %s:%d\n", path, b.Line)
		inTop := false
		for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
			if m := importLine.FindStringSubmatch(line); m != nil {
				imports[m[2]], line = m[1], ""
			}
			if !inTop && topLevel.MatchString(line) {
				inTop = true
				fmt.Fprintf(&top, "//line %s:%d\n", path, b.Line+i)
			}
			if inTop {
				top.WriteString(line + "\n")
				inTop = line != "}" && (line == "" || !topLevel.MatchString(line) || strings.HasSuffix(line, "{"))
				line = ""
			}
			body.WriteString(line + "\n")
		}
	}
	body.WriteString("}\n")
	fset := token.NewFileSet()
	text := body.String() + "\n" + top.String()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	main := file.Decls[0].(*ast.FuncDecl)
	declared := declaredIn(main.Body.List)
	insert := map[int]string{}
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	for i, s := range main.Body.List {
		if assigns(s, "err") && (i+1 == len(main.Body.List) || !mentions(main.Body.List[i+1], "err")) {
			insert[offset(s.End())] = "; must(err)"
		}
	}
	var uses strings.Builder
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		uses.WriteString("_ = " + name + "\n")
	}
	insert[offset(main.Body.Rbrace)] = uses.String()

	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && !declared[x.Name] && packages[x.Name] != "" {
				imports[packages[x.Name]] = ""
			}
		}
		return true
	})
	return &goPart{name: name, code: assemble(text, insert, imports), wants: printed(fset, file, text)}, nil
}

// assemble inserts pieces of code at offsets of a text, and the imports after its first line.
func assemble(text string, insert map[int]string, imports map[string]string) string {
	var out strings.Builder
	last := 0
	offsets := slices.Collect(maps.Keys(insert))
	sort.Ints(offsets)
	for _, at := range offsets {
		out.WriteString(text[last:at] + insert[at])
		last = at
	}
	out.WriteString(text[last:])
	first, rest, _ := strings.Cut(out.String(), "\n")
	var head strings.Builder
	head.WriteString(first + "\n")
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&head, "import %s %q\n", imports[path], path)
	}
	return head.String() + rest
}

// declaredIn returns the names that statements declare in their own scope.
func declaredIn(list []ast.Stmt) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			names[id.Name] = true
		}
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				for _, e := range s.Lhs {
					add(e)
				}
			}
		case *ast.DeclStmt:
			d, ok := s.Decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				for _, id := range spec.(*ast.ValueSpec).Names {
					add(id)
				}
			}
		}
	}
	return names
}

// assigns reports whether a statement sets a variable.
func assigns(s ast.Stmt, name string) bool {
	a, ok := s.(*ast.AssignStmt)
	return ok && slices.ContainsFunc(a.Lhs, func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == name
	})
}

// mentions reports whether a statement reads a variable; setting it does not count.
func mentions(s ast.Stmt, name string) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, e := range a.Rhs {
				found = found || refersTo(e, name)
			}
			return false
		}
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}

func refersTo(e ast.Expr, name string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// printed returns the lines that comments after calls of fmt.Println and fmt.Printf expect, in the order of the text.
func printed(fset *token.FileSet, file *ast.File, text string) (wants []string) {
	lines := strings.Split(text, "\n")
	comments := map[int]string{}
	for _, group := range file.Comments {
		c := group.List[0]
		line := fset.PositionFor(c.Pos(), false).Line
		comments[line] = strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		line := fset.PositionFor(call.End(), false).Line
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Println" && s.Sel.Name != "Printf" || !strings.Contains(lines[line-1], "//") {
			return true
		}
		if c := comments[line]; c != "" {
			wants = append(wants, c)
		}
		return true
	})
	return wants
}

// goMain returns the file that calls one of the functions by name.
func goMain(parts []*goPart) string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc must(err error) {\n\tif err != nil {\n")
	b.WriteString("\t\tfmt.Fprintln(os.Stderr, err)\n\t\tos.Exit(1)\n\t}\n}\n\n")
	b.WriteString("func main() {\n\tmap[string]func(){\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "\t\t%q: %s,\n", p.name, p.name)
	}
	b.WriteString("\t}[os.Args[1]]()\n}\n")
	return b.String()
}

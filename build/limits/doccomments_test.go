package limits

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented are the directories whose packages are the public API: all of them, except internal and test packages,
// have a doc comment on every exported name.
var documented = []string{"blob", "codegen", "dlpack", "export", "graph", "runtime", "target", "te", "tir", "trust"}

// undocumented returns the exported functions, methods, types, constants and variables of a file that have no doc
// comment. A constant or a variable may have the comment of its group, or one at the end of its line.
func undocumented(t *testing.T, name, text string) (missing []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	require.NoError(t, err)
	report := func(what *ast.Ident, comments ...*ast.CommentGroup) {
		for _, c := range comments {
			if c.Text() != "" {
				return
			}
		}
		if what.IsExported() {
			missing = append(missing, fmt.Sprintf("%s: %s", name, what.Name))
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || exportedType(d.Recv.List[0].Type) {
				report(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					report(s.Name, d.Doc, s.Doc, s.Comment)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						report(n, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return missing
}

// exportedType reports whether the type of a receiver is exported.
func exportedType(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.IsExported()
	case *ast.StarExpr:
		return exportedType(e.X)
	case *ast.IndexExpr:
		return exportedType(e.X)
	case *ast.IndexListExpr:
		return exportedType(e.X)
	}
	return false
}

func TestExportedNames_HaveDocComments(t *testing.T) {
	var missing []string
	files := 0
	for _, s := range sources(t) {
		dir := path.Dir(s.path)
		top, _, _ := strings.Cut(dir, "/")
		public := false
		for _, d := range documented {
			public = public || d == top
		}
		if !public || s.test || !strings.HasSuffix(s.path, ".go") || strings.Contains(dir+"/", "/internal/") {
			continue
		}
		files++
		missing = append(missing, undocumented(t, s.path, s.text)...)
	}
	require.Greater(t, files, 200, "the test must read the public packages")
	require.Empty(t, missing, "write a doc comment for these exported names")
}

func TestUndocumented(t *testing.T) {
	const text = `package p

func F() {}

// G has a comment.
func G() {}

type T struct{}

func (T) M()  {}
func (t) M()  {}
func (*X[P]) N() {}

// The values.
const A, B = 1, 2

const (
	C = 3 // at the end of the line
	D = 4
)

func unexported() {}
`
	require.Equal(t, []string{"p.go: F", "p.go: T", "p.go: M", "p.go: N", "p.go: D"}, undocumented(t, "p.go", text))
}

//go:build cgo

package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// values are the cases of operators, by the name of their table. The test file of an operator adds to them.
var values = map[string]func() []opCase{}

// valueCases adds cases for TestValues, which compares each with a reference: without a schedule and with that of a
// CPU.
func valueCases(name string, cases func() []opCase) bool {
	if values[name] != nil {
		panic("two tables of cases are called " + name)
	}
	values[name] = cases
	return true
}

func TestValues(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.Run(name, func(t *testing.T) { runCases(t, values[name]()) })
	}
}

// operators lists the operators of this package: exported functions that return one tensor, or several.
func operators(t *testing.T) (names []string) {
	for _, f := range functions(t, false) {
		if f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
			continue
		}
		result := f.Type.Results.List[0].Type
		if a, ok := result.(*ast.ArrayType); ok {
			result = a.Elt
		}
		if p, ok := result.(*ast.StarExpr); ok {
			if s, ok := p.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Tensor" {
				names = append(names, f.Name.Name)
			}
		}
	}
	require.Greater(t, len(names), 70)
	return names
}

// functions are the functions of this package, or of its tests.
func functions(t *testing.T, tests bool) (all []*ast.FuncDecl) {
	files := must.Get(filepath.Glob("*.go"))(t)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") != tests {
			continue
		}
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// makesCase reports whether a function returns a case of a table.
func makesCase(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	name, ok := f.Type.Results.List[0].Type.(*ast.Ident)
	return ok && name.Name == "opCase"
}

// Each operator is in a table of cases, which TestValues compares with a reference, and in the table of operators in
// docs/tensor-expressions.md, which lists nothing else.
func TestOperators_HaveValuesAndDocumentation(t *testing.T) {
	used := map[string]bool{}
	for _, f := range functions(t, true) {
		name, table := strings.CutSuffix(f.Name.Name, "Cases")
		if table = table && name != "value" && name != "run"; table {
			require.NotNil(t, values[name], "%s is not passed to valueCases", f.Name)
		}
		if !table && !makesCase(f) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				return false // a function of another package, such as math.Erf
			case *ast.Ident:
				used[n.Name] = true
			}
			return true
		})
	}
	text := must.Get(os.ReadFile("../../docs/tensor-expressions.md"))(t)
	_, table, ok := strings.Cut(string(text), "\n## Operators\n")
	require.True(t, ok)
	documented := map[string]bool{}
	for _, line := range strings.Split(table[:strings.Index(table, "\nSums of")], "\n") {
		if strings.HasPrefix(line, "|") {
			for i, word := range strings.Split(line, "`") {
				if i%2 == 1 {
					documented[word] = true
				}
			}
		}
	}
	for _, name := range operators(t) {
		require.True(t, used[name], "no table of cases uses operator %s: add it to one, or a function for valueCases", name)
		require.True(t, documented[name], "docs/tensor-expressions.md does not list operator %s", name)
		delete(documented, name)
	}
	require.Empty(t, documented, "docs/tensor-expressions.md lists operators that do not exist")
}

package tir_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirnodes"
	"tvmgo/tir"
)

// Every type of this package with the method of an expression or of a statement is described, and found by TypeOf.
func TestNodeTypes_AreAll(t *testing.T) {
	files := must.Get(filepath.Glob("*.go"))(t)
	declared := map[string]bool{} // by name: whether it is a statement
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || m.Name.Name != "expr" && m.Name.Name != "stmt" || len(m.Type.Params.List) > 0 {
				continue
			}
			if p, ok := m.Recv.List[0].Type.(*ast.StarExpr); ok && len(m.Recv.List[0].Names) == 0 {
				declared[p.X.(*ast.Ident).Name] = m.Name.Name == "stmt"
			}
		}
	}
	described := map[string]bool{}
	for _, n := range tir.NodeTypes() {
		described[n.Name] = n.IsStmt
		require.Same(t, n, tir.TypeOf(n.New()), n.Name)
	}
	require.Equal(t, declared, described)
	for _, n := range tir.NodeTypes() { // and so is every field
		node := n.New()
		v := reflect.ValueOf(node).Elem()
		for i := range v.NumField() {
			if s := v.Type().Field(i); s.IsExported() {
				is := func(f tir.Field) bool { return f.In(node) == v.Field(i).Addr().Interface() }
				require.True(t, slices.ContainsFunc(n.Fields, is), "%s.%s", n.Name, s.Name)
			}
		}
	}
	require.Nil(t, tir.TypeOf(nil))
	require.Nil(t, tir.TypeOf(foreign{}), "a node of others")
}

type foreign struct{ tir.Expr }

// The nodes that tests of walks, replacements, comparison and hashes use are of all types that have parts.
func TestEveryNode_IsOfEveryType(t *testing.T) {
	made := map[string]bool{}
	for _, n := range tirnodes.EveryNode() {
		made[tir.TypeOf(n).Name] = true
	}
	for _, n := range tir.NodeTypes() {
		exprs, stmts := tir.Parts(n.New())
		if len(exprs)+len(stmts) > 0 || n.Name == "Seq" || n.Name == "Call" {
			require.True(t, made[n.Name], "tirnodes.EveryNode makes no %s", n.Name)
		}
	}
}

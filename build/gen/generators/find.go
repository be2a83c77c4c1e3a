package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "tvmgo"

// generator is a package that generates code for built-in kinds.
type generator struct {
	path  string // from the root of the repository
	kinds []string
}

// find returns the packages in the folders of codegen that register generators, sorted. It omits
// packages that declare a kind, because that is not built in.
func find(root string) ([]generator, error) {
	entries, err := os.ReadDir(filepath.Join(root, "codegen"))
	if err != nil {
		return nil, err
	}
	var all []generator
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "internal" || e.Name() == "testdata" {
			continue
		}
		kinds, err := registered(filepath.Join(root, "codegen", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("codegen/%s: %w", e.Name(), err)
		}
		if len(kinds) > 0 {
			all = append(all, generator{path: "codegen/" + e.Name(), kinds: kinds})
		}
	}
	return all, nil
}

// registered lists the kinds for which the package in a folder calls codegen.Register.
func registered(dir string) ([]string, error) {
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	parsed, err := parser.ParseDir(token.NewFileSet(), dir, notTest, 0)
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, p := range parsed {
		constants := map[string]ast.Expr{}
		var arguments []ast.Expr
		own := false
		for _, file := range p.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if i < len(n.Values) {
							constants[name.Name] = n.Values[i]
						}
					}
				case *ast.CallExpr:
					switch callee(n) {
					case "codegen.Register":
						arguments = append(arguments, n.Args[0])
					case "target.RegisterKind":
						own = true
					}
				}
				return true
			})
		}
		if own {
			continue
		}
		for _, a := range arguments {
			kind, err := text(a, constants)
			if err != nil {
				return nil, err
			}
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds, nil
}

// callee returns the name of the called function, "" if it is not a function of another package.
func callee(call *ast.CallExpr) string {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + s.Sel.Name
}

// text returns the value of a literal, or of a constant of the package.
func text(e ast.Expr, constants map[string]ast.Expr) (string, error) {
	if id, ok := e.(*ast.Ident); ok && constants[id.Name] != nil {
		e = constants[id.Name]
	}
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		return strconv.Unquote(l.Value)
	}
	return "", fmt.Errorf("the kind in a call of codegen.Register is neither a literal nor a constant of the package")
}

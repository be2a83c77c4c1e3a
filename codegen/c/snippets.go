package c

import (
	"embed"

	"tvmgo/codegen/abi"
)

//go:embed snippets
var snippetFiles embed.FS

// snippets are the pieces of C that functions may need: those of package abi, and those for bodies.
var snippets = abi.Read(snippetFiles, abi.All)

// snippet adds pieces of C, and those that they need, to the file.
func (g *generator) snippet(names ...string) { g.snippets.Add(names...) }

// snippetText adds C that was made for this file, once for each name.
func (g *generator) snippetText(name, code string) { g.snippets.AddText(name, code) }

// snippetCode returns the C of the pieces. In one of several C files, shared functions are only declared.
func (g *generator) snippetCode() *text {
	all := &text{}
	for i, p := range g.snippets.Pieces {
		if i > 0 {
			all.line("")
		}
		if g.several {
			all.WriteString(withoutBodies(p))
		} else {
			all.WriteString(p.Alone())
		}
	}
	return all
}

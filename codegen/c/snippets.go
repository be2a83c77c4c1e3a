package c

import "embed"

// snippetFiles are pieces of C that generated code may need, by name.
//
//go:embed snippets
var snippetFiles embed.FS

// snippetNeeds are the pieces that a piece needs before itself. Those of the classic convention end in _classic.
var snippetNeeds = map[string][]string{
	"expected":  {"raise", "parameter"},
	"count":     {"raise"},
	"int":       {"expected", "kind", "range"},
	"range":     {"raise", "parameter"},
	"float":     {"expected", "kind"},
	"pointer":   {"expected", "kind"},
	"described": {"shaped"},
	"tensor":    {"expected", "kind", "described"},

	"devicetensor": {"expected", "kind", "ondevice"},
	"offset":       {"shaped", "ask"},
	"ask":          {"find"},
	"passbuffer":   {"shaped"},
	"extent":       {"raise", "parameter"},
	"shaped":       {"raise", "parameter"},
	"ondevice":     {"shaped"},
	"fits":         {"raise", "parameter"},
	"compact":      {"shaped"},
	"overlap":      {"raise", "parameter"},
	"apart":        {"overlap"},
	"reach":        {"shaped", "stride"},
	"index":        {"raise"},
	"reports":      {"index", "call"},
	"grow":         {"raise"},
	"span":         {"raise"},
	"call":         {"find"},
	"calllinked":   {"call"},
	"drop":         {"raise", "kind", "letgo"},

	"float16_of_double":  {"narrow"},
	"bfloat16_of_double": {"narrow"},
	"bfloat16_of_int":    {"bfloat16_of_double"},
}

// helper adds a piece of C that is needed, once, behind those that it needs itself.
func (g *generator) helper(name string) {
	if g.helperSet[name] {
		return
	}
	g.helperSet[name] = true
	if g.hooks.Helper != nil {
		if code, ok := g.hooks.Helper(name); ok {
			g.helperText(name+".c", code)
			return
		}
	}
	for _, n := range snippetNeeds[name] {
		g.helper(n)
	}
	var code []byte
	err := error(nil)
	if g.classic {
		code, _ = snippetFiles.ReadFile("snippets/" + name + "_classic.c")
	}
	if code == nil {
		if code, err = snippetFiles.ReadFile("snippets/" + name + ".c"); err != nil {
			g.fail("%w", err)
			return
		}
	}
	p := piece{name, string(code)}
	g.pieces = append(g.pieces, p)
	if g.several {
		g.helperText(name+".c", p.declared())
	} else {
		g.helperText(name+".c", p.own())
	}
}

// helperText adds a piece of C that was made for this file.
func (g *generator) helperText(name, code string) {
	if g.helperSet[name] {
		return
	}
	g.helperSet[name] = true
	if g.helpers.Len() > 0 {
		g.helpers.line("")
	}
	g.helpers.WriteString(code)
}

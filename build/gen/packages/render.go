package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isDrawn reports whether the diagram has a package. Internal packages without imports would make it unreadable.
func isDrawn(p *pkg) bool {
	return p.layer.id != "" && (p.layer.id != "internal" || len(p.Imports) > 0)
}

// drawn returns the imports of a package that the diagram shows: without those that another import reaches.
func (g *graph) drawn(p *pkg) []string {
	var direct []string
	for _, path := range p.Imports {
		if q := g.of[path]; q != nil && isDrawn(q) {
			direct = append(direct, path)
		}
	}
	return slices.DeleteFunc(slices.Clone(direct), func(path string) bool {
		return slices.ContainsFunc(direct, func(other string) bool { return other != path && g.reached(g.of[other])[path] })
	})
}

// diagram is the packages by layer and their imports, for Mermaid.
func diagram(g *graph) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TB\n")
	var edges []string
	for _, l := range layers {
		if l.id == "" {
			continue
		}
		fmt.Fprintf(&b, "  subgraph layer_%s[\"%s\"]\n", l.id, l.title)
		for _, p := range g.in(l) {
			if !isDrawn(p) {
				continue
			}
			fmt.Fprintf(&b, "    %s[\"%s\"]\n", nodeID(p.Path), p.Path)
			for _, path := range g.drawn(p) {
				edges = append(edges, fmt.Sprintf("  %s --> %s\n", nodeID(p.Path), nodeID(path)))
			}
		}
		b.WriteString("  end\n")
	}
	b.WriteString(strings.Join(edges, ""))
	b.WriteString("```\n")
	return b.String()
}

// nodeID is the name of a package in Mermaid, where words such as end and names with a slash have a different meaning.
func nodeID(path string) string { return "p_" + strings.ReplaceAll(path, "/", "_") }

// ruleTable has a line for each rule.
func ruleTable(g *graph) string {
	var b strings.Builder
	b.WriteString("| Packages | must not import | because |\n|---|---|---|\n")
	for _, r := range g.rules() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", listed(r.from), listed(r.not), r.why)
	}
	return b.String()
}

func listed(paths []string) string {
	if slices.Contains(paths, "...") {
		return "any package of this module"
	}
	return "`" + strings.Join(paths, "`, `") + "`"
}

// table has a line for each package.
func table(g *graph) string {
	var b strings.Builder
	b.WriteString("| Layer | Package | What it is |\n|---|---|---|\n")
	for _, l := range append(slices.Clone(layers[1:]), tests, beside) {
		for _, p := range g.in(l) {
			fmt.Fprintf(&b, "| %s | [`%s`](../%s) | %s |\n", l.title, p.Path, p.Path, sentence(p))
		}
	}
	return b.String()
}

var (
	docLink = regexp.MustCompile(`\[([A-Z]\w*(\.\w+)*)\]`)
	cell    = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`)
)

// sentence is the first sentence of a package's comment without its subject, because the table has that beside it.
func sentence(p *pkg) string {
	text := p.Doc
	for _, subject := range []string{"Package ", "Command "} {
		if rest, found := strings.CutPrefix(text, subject); found {
			_, text, _ = strings.Cut(rest, " ")
		}
	}
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	return cell.Replace(docLink.ReplaceAllString(strings.TrimRight(text, ".:"), "$1") + ".")
}

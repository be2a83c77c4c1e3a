package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/cudaimage"
	"tvmgo/internal/modulekind"
)

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{}
	machine := fmt.Sprintf("%s, %d-bit", r.Architecture, r.Bits)
	if r.Architecture == "" {
		machine = "sources alone"
	}
	p.line("%s: %d bytes, %s", Shown(r.File), r.Size, machine)
	title := "members"
	for _, m := range r.Members {
		note := ""
		if m.Source {
			note = ", source: its functions are known once it is compiled"
		}
		p.line("%-16s %s (%d bytes%s)", title, Shown(m.Name), m.Size, note)
		title = ""
	}
	p.line("generation       %s", r.Generation.Describe())
	if r.Entry != "" {
		p.line("entry            %s", Shown(r.Entry))
	}
	p.functions(r.Functions)
	p.list("context slots", r.ContextSlots)
	p.list("runtime imports", r.RuntimeImports)
	p.list("other imports", r.OtherImports)
	p.list("needs", r.Libraries)
	p.blob(r.Blob)
	for _, problem := range r.Problems {
		p.line("PROBLEM          %s", Shown(problem))
	}
	p.hint(r)
	_, err := io.WriteString(w, p.text.String())
	return err
}

type printer struct{ text strings.Builder }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *printer) list(title string, names []string) {
	for _, n := range names {
		p.line("%-16s %s", title, Shown(n))
		title = ""
	}
}

func (p *printer) functions(list []Function) {
	if len(list) == 0 {
		p.line("functions        none")
	}
	title := "functions"
	for _, f := range list {
		note := ""
		if f.Metadata {
			note += ", metadata"
		}
		if f.Doc {
			note += ", doc"
		}
		p.line("%-16s %s (%s%s)", title, Shown(f.Name), f.Convention, note)
		if f.Signature != "" && (f.Description == nil || f.Description.Signature != f.Signature) {
			p.line("                   %s", Shown(f.Signature))
		}
		for _, v := range f.Variants {
			p.line("                   on %s: %s", Shown(v.Device), Shown(v.String()))
		}
		if f.Description != nil {
			p.description(f.Description)
		}
		title = ""
	}
}

// description prints the signature, the other metadata, and the documentation.
func (p *printer) description(d *Description) {
	const indent = "                   "
	if d.Signature != "" {
		p.line("%s%s", indent, Shown(d.Signature))
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal(d.Metadata, &values) // checked when it was filled in
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == "type_schema" && d.Signature != "" {
			continue
		}
		p.line("%s%s: %s", indent, Shown(key), legible(string(values[key])))
	}
	if d.Doc == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(d.Doc, "\n"), "\n") {
		p.line("%s", strings.TrimRight(indent+legible(line), " "))
	}
}

// hint tells the user how to print what functions of the file return.
func (p *printer) hint(r *Report) {
	if r.Loaded || !slices.ContainsFunc(r.Functions, func(f Function) bool { return f.Metadata || f.Doc }) {
		return
	}
	p.line("metadata and docs are functions of the file: tvmgo inspect --load %s runs them", Shown(r.File))
}

func (p *printer) blob(b *Blob) {
	if b == nil {
		return
	}
	p.line("blob             %s, %s layout, %d bytes", b.Symbol, b.Layout, b.Size)
	if len(b.Modules) > 0 {
		p.tree(b)
	}
}

// tree prints the modules from the root on, each below the module that imports it. The imports of a shared module are
// printed once. Chains of imports may be long, so the function does not recurse.
func (p *printer) tree(b *Blob) {
	type visit struct{ module, depth int }
	seen := make([]bool, len(b.Modules))
	for stack := []visit{{}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		m := &b.Modules[at.module]
		p.module(m, at.depth, seen[at.module])
		if seen[at.module] {
			continue
		}
		seen[at.module] = true
		for _, child := range slices.Backward(m.Imports) {
			stack = append(stack, visit{child, at.depth + 1})
		}
	}
}

func (p *printer) module(m *Module, depth int, seen bool) {
	indent := strings.Repeat("  ", min(depth, 24))
	text := fmt.Sprintf("%s[%d] %s", indent, m.Index, Shown(m.Kind))
	if seen {
		p.line("  %s, see above", text)
		return
	}
	if m.Kind != modulekind.Library {
		text += fmt.Sprintf(", %d bytes", m.PayloadSize)
	}
	if m.Device != nil {
		text += fmt.Sprintf(", %s, code %d bytes", Shown(m.Device.Format), m.Device.CodeSize)
	}
	if m.Program != nil {
		text += fmt.Sprintf(", bytecode of file version %d", m.Program.FileVersion)
	}
	if m.Loader != "" {
		text += ", loaded by " + m.Loader
	}
	p.line("  %s", text)
	if m.Unsupported != "" {
		p.line("  %s  %s", indent, m.Unsupported)
	}
	if m.Program != nil {
		p.program(indent, m.Program)
	}
	if m.Graph != nil {
		p.graph(indent, m.Graph)
	}
	if m.Device == nil {
		return
	}
	for _, f := range m.Device.Functions {
		p.line("  %s    %s(%s)%s", indent, Shown(f.Name), strings.Join(f.Args, ", "), tags(f))
		if r := f.Resources; r != nil {
			p.line("  %s      %s: %d registers, %s, %d bytes shared, %d constant, %d local", indent, r.Arch, r.Registers,
				spills(r), r.Shared, r.Constant, r.Local)
		}
	}
}

func spills(r *cudaimage.Resources) string {
	switch s := r.Spills; {
	case s == nil:
		return "spills not known"
	case *s == cudaimage.Spills{}:
		return "no spills"
	default:
		return fmt.Sprintf("spills: %d bytes stored, %d loaded", s.Stores, s.Loads)
	}
}

func tags(f DeviceFunction) string {
	text := ""
	for _, t := range f.LaunchTags {
		text += " " + Shown(t)
	}
	if len(f.ExtraTags) > 0 {
		text += fmt.Sprintf(" extra%v", f.ExtraTags)
	}
	return text
}

// legible returns a text that is safe on a terminal: characters that are not printable are escaped.
func legible(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\t':
			b.WriteString("    ")
		case strconv.IsPrint(c):
			b.WriteRune(c)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		}
	}
	return b.String()
}

// Shown returns a name that is safe on a terminal: it is quoted if it has characters that are not printable.
func Shown(name string) string {
	for _, c := range name {
		if c == 0xfffd || !strconv.IsPrint(c) {
			return strconv.Quote(name)
		}
	}
	return name
}

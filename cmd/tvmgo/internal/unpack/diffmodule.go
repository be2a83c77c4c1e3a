package unpack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"tvmgo/blob"
)

// Longer text is compared as bytes, because a comparison by lines needs many times its size in time and memory.
const (
	maxDiffText  = 16 << 20
	maxDiffLines = 500_000
)

// trees compares the modules and their imports. Payloads in different layouts always differ in their bytes, so these
// are not compared.
func (d *Comparison) trees(a, b []part, sameLayout bool) {
	pair(a, b)
	for i := range a {
		if a[i].other < 0 {
			d.module(&a[i], nil, "module", "", a[i].describe(), "")
			continue
		}
		before := len(d.Differences)
		x, y := &a[i], &b[a[i].other]
		d.module(x, y, "number", "", fmt.Sprint(x.Index), fmt.Sprint(y.Index))
		d.imports(x, y, a, b)
		d.insides(x, y)
		if sameLayout && len(d.Differences) == before && !bytes.Equal(x.payload, y.payload) {
			d.bytes(x, y, "payload", "", x.payload, y.payload)
		}
	}
	for k := range b {
		if b[k].other < 0 {
			d.module(nil, &b[k], "module", "", "", b[k].describe())
		}
	}
}

func (p *part) describe() string { return fmt.Sprintf("%d bytes", p.PayloadSize) }

// module compares two texts about modules; "" means absent.
func (d *Comparison) module(x, y *part, what, name, a, b string) {
	before := len(d.Differences)
	d.values(what, name, a, b)
	d.locate(before, x, y)
}

// locate sets the modules of all differences from index since on.
func (d *Comparison) locate(since int, x, y *part) {
	for i := since; i < len(d.Differences); i++ {
		diff := &d.Differences[i]
		if y != nil {
			diff.ModuleB, diff.Kind = &y.Index, y.Kind
		}
		if x != nil {
			diff.ModuleA, diff.Kind = &x.Index, x.Kind
		}
	}
}

// imports compares the imports by the numbers that modules have in b, so that a moved module is no difference of its
// importers. If the lists look equal but mean different modules, the numbers or kinds of those modules already differ.
func (d *Comparison) imports(x, y *part, a, b []part) {
	mapped := make([]int, len(x.Imports))
	for i, child := range x.Imports {
		mapped[i] = -1
		if other := a[child].other; other >= 0 {
			mapped[i] = b[other].Index
		}
	}
	if !slices.Equal(mapped, y.Imports) {
		d.module(x, y, "imports", "", numbers(x.Imports), numbers(y.Imports))
	}
}

// insides compares the contents of the payloads.
func (d *Comparison) insides(x, y *part) {
	before := len(d.Differences)
	d.values("format", "", x.format, y.format)
	if x.table != nil || y.table != nil {
		d.tables("function", kernels(x.table), kernels(y.table))
	} else {
		d.sets("function", x.functions, y.functions)
	}
	d.sets("wanted constant", x.constants, y.constants)
	d.tables("constants of function", symbolNames(x.symbols), symbolNames(y.symbols))
	d.locate(before, x, y)
	d.piecesOf(x, y)
}

// kernels returns the signatures of the functions.
func kernels(table []blob.Function) map[string]string {
	all := map[string]string{}
	for _, f := range table {
		args := make([]string, len(f.ArgTypes))
		for i, t := range f.ArgTypes {
			args[i] = t.String()
			if i < len(f.ArgExtraTags) && f.ArgExtraTags[i] != blob.ExtraTagNone {
				args[i] += fmt.Sprintf(" extra %d", f.ArgExtraTags[i])
			}
		}
		all[f.Key] = fmt.Sprintf("%s(%s) %s", f.Name, strings.Join(args, ", "), strings.Join(f.LaunchParamTags, " "))
	}
	return all
}

func symbolNames(list []blob.SymbolConstants) map[string]string {
	all := map[string]string{}
	for _, s := range list {
		all[s.Symbol] = strings.Join(s.Names, ", ")
	}
	return all
}

// pieceKey identifies a piece of a module; nth counts pieces with the same name.
type pieceKey struct {
	role Role
	of   string
	nth  int
}

// compared is a piece without its description in the tables.
type compared struct {
	about string // the type of a constant, the flag of a shader
	data  []byte
}

func (p *part) byName() (keys []pieceKey, all map[pieceKey]compared) {
	all, seen, tensor := map[pieceKey]compared{}, map[pieceKey]int{}, 0
	for _, piece := range p.pieces {
		c := compared{data: piece.parts[len(piece.parts)-1]} // without the header of a constant
		switch piece.role {
		case Meta, Constants:
			continue
		case Constant:
			c.about = fmt.Sprint(p.tensors[tensor].DType, p.tensors[tensor].Shape)
			tensor++
		case Shader:
			c.about = fmt.Sprintf("flag %d", piece.flag)
		}
		key := pieceKey{role: piece.role, of: piece.of}
		seen[key]++
		key.nth = seen[pieceKey{role: piece.role, of: piece.of}]
		keys, all[key] = append(keys, key), c
	}
	return keys, all
}

// piecesOf compares code, shaders and constants.
func (d *Comparison) piecesOf(x, y *part) {
	keysX, inX := x.byName()
	keysY, inY := y.byName()
	for _, key := range keysX {
		a := inX[key]
		b, ok := inY[key]
		if !ok {
			d.module(x, y, string(key.role), key.of, sized(a.data), "")
			continue
		}
		d.module(x, y, string(key.role), key.of, a.about, b.about)
		if !bytes.Equal(a.data, b.data) {
			d.bytes(x, y, string(key.role), key.of, a.data, b.data)
		}
	}
	for _, key := range keysY {
		if _, ok := inX[key]; !ok {
			d.module(x, y, string(key.role), key.of, "", sized(inY[key].data))
		}
	}
}

func sized(data []byte) string { return fmt.Sprintf("%d bytes", len(data)) }

// bytes reports a difference: text by lines, other bytes by their offset.
func (d *Comparison) bytes(x, y *part, what, name string, a, b []byte) {
	textA, textB := sized(a), sized(b)
	diff := Difference{What: what, Name: name, A: &textA, B: &textB}
	if hasLines(a) && hasLines(b) {
		diff.Diff = udiff.Unified(fmt.Sprintf("a/%d", x.Index), fmt.Sprintf("b/%d", y.Index), string(a), string(b))
	} else {
		textA += fmt.Sprintf(", differs from byte %d on", firstDifference(a, b))
	}
	before := len(d.Differences)
	d.Differences = append(d.Differences, diff)
	d.locate(before, x, y)
}

func hasLines(data []byte) bool {
	return len(data) <= maxDiffText && bytes.Count(data, []byte{'\n'}) <= maxDiffLines && isText(data)
}

// firstDifference returns the offset of the first byte that differs, or the length of the shorter one.
func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

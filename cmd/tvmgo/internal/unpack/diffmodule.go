package unpack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"tvmgo/blob"
)

// Longer text is compared as bytes: time and memory would grow to many times its size.
const (
	maxDiffText  = 16 << 20
	maxDiffLines = 500_000
)

// trees compares the modules and what imports what. Payloads of different layouts differ even where they say the same.
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

// module compares two texts about modules; "" is nothing.
func (d *Comparison) module(x, y *part, what, name, a, b string) {
	before := len(d.Differences)
	d.values(what, name, a, b)
	d.locate(before, x, y)
}

// locate says of the differences since then which modules they are about.
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

// imports compares in the numbers of b, so that a module that only moved is no difference of those that import it.
// Where the lists read alike and mean other modules, those modules' own numbers or kinds are the difference.
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

// insides compares what the payloads hold.
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

// kernels are the functions as they are called.
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

// pieceKey identifies a piece of a module; nth counts those of one name.
type pieceKey struct {
	role Role
	of   string
	nth  int
}

// compared is a piece without its description in the tables.
type compared struct {
	about string // of a constant its type, of a shader its flag
	data  []byte
}

func (p *part) byName() (keys []pieceKey, all map[pieceKey]compared) {
	all, seen, tensor := map[pieceKey]compared{}, map[pieceKey]int{}, 0
	for _, piece := range p.pieces {
		c := compared{data: piece.parts[len(piece.parts)-1]} // of a constant without the header
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

// bytes describes a difference: of text by lines, of other bytes by its offset.
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

// firstDifference is the offset of the first byte that differs, or the end of the shorter.
func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

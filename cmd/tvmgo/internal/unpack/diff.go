package unpack

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/inspect"
)

// Comparison is the result of Diff. The JSON keys are stable.
type Comparison struct {
	A           string       `json:"a"` // the files
	B           string       `json:"b"`
	Same        bool         `json:"same"`
	Differences []Difference `json:"differences"`
	DamageA     []string     `json:"damage_a"` // parts that could not be compared, and why
	DamageB     []string     `json:"damage_b"`
}

// Difference is a difference of the files. A or B is absent if that file does not have the named part.
type Difference struct {
	What    string  `json:"what"` // "architecture", "function", "code", …
	Name    string  `json:"name,omitempty"`
	A       *string `json:"a"`
	B       *string `json:"b"`
	ModuleA *int    `json:"module_a,omitempty"` // the numbers of the module, if the difference is in one
	ModuleB *int    `json:"module_b,omitempty"`
	Kind    string  `json:"kind,omitempty"` // of the module
	Diff    string  `json:"diff,omitempty"` // of text, unified
}

// Diff compares two libraries: what they define, what they import, and their modules. They are the same if every byte
// that a loader maps is the same. What only tools read, such as debug information, does not count.
func Diff(a, b string) (*Comparison, error) {
	d := &Comparison{A: a, B: b, Differences: []Difference{}}
	err := inspect.WithContents(a, func(first *inspect.Contents) error {
		return inspect.WithContents(b, func(second *inspect.Contents) error {
			d.DamageA, d.DamageB = append([]string{}, first.Damage...), append([]string{}, second.Damage...)
			d.library(first, second)
			d.blobs(first, second)
			return d.segments(first, second)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("diff %w", err)
	}
	d.Same = len(d.Differences) == 0 && !d.Damaged()
	return d, nil
}

// Damaged reports whether something could not be compared.
func (d *Comparison) Damaged() bool { return len(d.DamageA)+len(d.DamageB) > 0 }

// library compares the parts outside the blobs.
func (d *Comparison) library(a, b *inspect.Contents) {
	d.values("architecture", "", a.Architecture, b.Architecture)
	d.values("bits", "", strconv.Itoa(a.Bits), strconv.Itoa(b.Bits))
	d.values("byte order", "", a.ByteOrder, b.ByteOrder)
	d.values("generation", "", string(a.Generation), string(b.Generation))
	d.values("entry", "", a.Entry, b.Entry)
	d.tables("function", hostFunctions(a.Functions), hostFunctions(b.Functions))
	d.sets("context slot", a.ContextSlots, b.ContextSlots)
	d.sets("runtime import", a.RuntimeImports, b.RuntimeImports)
	d.sets("other import", a.OtherImports, b.OtherImports)
	d.sets("needed library", a.Libraries, b.Libraries)
}

// hostFunctions describes each function, apart from its code.
func hostFunctions(list []inspect.Function) map[string]string {
	all := map[string]string{}
	for _, f := range list {
		text := string(f.Convention)
		if f.Metadata {
			text += ", metadata"
		}
		if f.Doc {
			text += ", doc"
		}
		all[f.Name] = text
	}
	return all
}

// values compares two texts; "" means absent.
func (d *Comparison) values(what, name, a, b string) {
	if a == b {
		return
	}
	diff := Difference{What: what, Name: name}
	if a != "" {
		diff.A = &a
	}
	if b != "" {
		diff.B = &b
	}
	d.Differences = append(d.Differences, diff)
}

// tables compares texts by name. A name that only one side has is a difference, even if its text is empty.
func (d *Comparison) tables(what string, a, b map[string]string) {
	both := maps.Clone(a)
	maps.Copy(both, b)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		inA, hasA := a[name]
		inB, hasB := b[name]
		if hasA == hasB && inA == inB {
			continue
		}
		diff := Difference{What: what, Name: name}
		if hasA {
			diff.A = &inA
		}
		if hasB {
			diff.B = &inB
		}
		d.Differences = append(d.Differences, diff)
	}
}

func (d *Comparison) sets(what string, a, b []string) { d.tables(what, counted(a), counted(b)) }

// counted returns for each name how often it occurs, if more than once.
func counted(list []string) map[string]string {
	count := map[string]int{}
	for _, name := range list {
		count[name]++
	}
	all := map[string]string{}
	for name, n := range count {
		all[name] = ""
		if n > 1 {
			all[name] = strconv.Itoa(n) + " times"
		}
	}
	return all
}

// blobs compares the modules in the blobs.
func (d *Comparison) blobs(a, b *inspect.Contents) {
	layouts := [2]string{}
	for i, c := range []*inspect.Contents{a, b} {
		if c.Blob != nil {
			layouts[i] = c.Blob.Layout
		}
	}
	d.values("layout", "", layouts[0], layouts[1])
	if a.Blob != nil && a.Parsed == nil || b.Blob != nil && b.Parsed == nil {
		return // the damage says why
	}
	first, damage := takeApart(a)
	d.DamageA = addNew(d.DamageA, damage)
	second, damage := takeApart(b)
	d.DamageB = addNew(d.DamageB, damage)
	d.trees(first, second, layouts[0] == layouts[1])
}

// addNew appends the problems that the inspection has not reported.
func addNew(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// numbers writes "[1 2]".
func numbers(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(text, " ") + "]"
}

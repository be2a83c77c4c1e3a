package unpack

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"tvmgo/blob"
	"tvmgo/internal/inspect"
	"tvmgo/internal/modulekind"
)

// Summary lists the written files. The JSON keys are stable.
type Summary struct {
	Dir      string    `json:"dir"`
	Modules  int       `json:"modules"`
	Files    []Written `json:"files"`
	Problems []string  `json:"problems"`
	// Damage lists the problems because of which something is missing.
	Damage []string `json:"damage"`
}

// Written is one file of the folder.
type Written struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Role   Role   `json:"role,omitempty"`
	Module *int   `json:"module,omitempty"` // its number
	Kind   string `json:"kind,omitempty"`
}

// Unpack writes the contents of a library into a new or empty folder. force also allows other folders, in which it
// replaces files with the same names. Damage inside the library is no error: [Summary].Damage lists the problems. If
// ctx ends first, nothing is written.
func Unpack(ctx context.Context, file, dir string, force bool) (*Summary, error) {
	var summary *Summary
	err := inspect.WithContents(file, func(c *inspect.Contents) error {
		p := newLayout(c)
		f, err := openFolder(dir, force)
		if err != nil {
			return err
		}
		defer f.close()
		summary, err = p.write(ctx, f, file)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("unpack %w", err)
	}
	return summary, nil
}

// layout is a plan of the folder.
type layout struct {
	tree   *Tree
	raw    []byte
	damage []string
	pieces [][]piece // of each module, in the order of its files
}

// newLayout plans the files. Pieces are views of the library's bytes, so that memory stays near their size.
func newLayout(c *inspect.Contents) *layout {
	l := &layout{tree: newTree(c), raw: c.Raw, damage: append([]string{}, c.Damage...)}
	if c.Raw != nil {
		l.tree.Blob = BlobFile
	}
	var host []string
	for _, f := range c.Functions {
		host = append(host, f.Name)
	}
	taken := names{TreeFile: 1, BlobFile: 1}
	for _, n := range nodes(c) {
		m := Module{Index: n.Index, Kind: n.Kind, PayloadSize: n.PayloadSize, Imports: n.Imports,
			Functions: []string{}, Files: []File{}}
		if n.entry == nil || n.entry.IsLibrary() {
			m.Functions = append(m.Functions, host...)
			l.tree.Modules, l.pieces = append(l.tree.Modules, m), append(l.pieces, nil)
			continue
		}
		pieces, err := m.take(n.entry.Payload, c.Parsed.Layout, taken)
		if err != nil {
			l.damaged(inspect.ModuleProblem(n.Kind, err))
		}
		l.tree.Modules, l.pieces = append(l.tree.Modules, m), append(l.pieces, pieces)
	}
	return l
}

// take splits a payload into the module's files, from which it can be rebuilt. An error means that the payload is
// damaged.
func (m *Module) take(payload []byte, layout blob.Layout, taken names) ([]piece, error) {
	parts, err := split(m.Kind, payload, layout)
	m.Format, m.Functions, m.Constants = parts.format, parts.functions, parts.constants
	for _, p := range parts.pieces {
		m.addFile(taken, p)
	}
	if !m.chooseForm(payload, layout, parts.pieces) {
		parts.add(Payload, "", "payload.bin", payload)
		m.addFile(taken, parts.pieces[len(parts.pieces)-1])
	}
	return parts.pieces, err
}

// damaged adds a problem unless the inspection has reported it. The inspection does not parse every kind.
func (l *layout) damaged(problem string) {
	if !slices.Contains(l.damage, problem) {
		l.damage, l.tree.Problems = append(l.damage, problem), append(l.tree.Problems, problem)
	}
}

func (m *Module) addFile(taken names, p piece) {
	parts := []string{strconv.Itoa(m.Index), m.Kind}
	if p.of != "" || p.role == Shader || p.role == Constant {
		parts = append(parts, p.of)
	}
	m.Files = append(m.Files, File{Name: taken.pick(p.ext, parts...), Role: p.role, Of: p.of, Flag: p.flag,
		Size: p.size()})
}

func (p *piece) size() int64 {
	n := int64(0)
	for _, part := range p.parts {
		n += int64(len(part))
	}
	return n
}

// node is a module with its entry, which is nil for a root that is not in the blob.
type node struct {
	inspect.Module
	entry *blob.Entry
}

// nodes lists the modules. A library without a blob is a single module.
func nodes(c *inspect.Contents) []node {
	if c.Blob == nil {
		return []node{{Module: inspect.Module{Kind: modulekind.Library, Imports: []int{}}}}
	}
	var list []node
	shift := 0
	if c.Parsed != nil {
		shift = len(c.Blob.Modules) - len(c.Parsed.Entries)
	}
	for i, m := range c.Blob.Modules {
		n := node{Module: m}
		if i >= shift {
			n.entry = &c.Parsed.Entries[i-shift]
		}
		list = append(list, n)
	}
	return list
}

// write fills the folder and moves the files to their names, tree.json last.
func (l *layout) write(ctx context.Context, f *folder, library string) (*Summary, error) {
	s := &Summary{Dir: f.path, Modules: len(l.tree.Modules), Files: []Written{}, Problems: l.tree.Problems,
		Damage: l.damage}
	put := func(w Written, parts ...[]byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.Files = append(s.Files, w)
		return f.write(w.Name, parts)
	}
	for i := range l.tree.Modules {
		m := &l.tree.Modules[i]
		for k, file := range m.Files {
			w := Written{Name: file.Name, Size: file.Size, Role: file.Role, Module: &m.Index, Kind: m.Kind}
			if err := put(w, l.pieces[i][k].parts...); err != nil {
				return nil, err
			}
		}
	}
	if l.tree.Blob != "" {
		if err := put(Written{Name: BlobFile, Size: int64(len(l.raw))}, l.raw); err != nil {
			return nil, err
		}
	}
	text, err := encodeJSON(l.tree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.tree.File, err)
	}
	if err := put(Written{Name: TreeFile, Size: int64(len(text))}, text); err != nil {
		return nil, err
	}
	return s, f.publish(library)
}

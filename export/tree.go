package export

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/runtime"
)

// tree holds a module and all its direct and indirect imports, each once.
type tree struct {
	nodes []*node // the root first
	// entries are the blob's entries in order, as nodes; a library entry stands for all linked nodes.
	entries          [][]int
	rowPtr, children []int
}

type node struct {
	module  *runtime.Module
	kind    string
	imports []int
	linked  bool
	// how it was found: import number slot of node parent
	parent, slot int
}

// collect walks the imports. Close the tree.
func collect(root *runtime.Module) (*tree, error) {
	t := &tree{}
	if root.ID() == 0 {
		return nil, runtime.Errorf(runtime.ErrClosed, "the module is closed, or nil")
	}
	known := map[uintptr]int{root.ID(): 0}
	t.add(root, -1, 0)
	for at := 0; at < len(t.nodes); at++ {
		deps, err := t.nodes[at].module.Imports()
		if err != nil {
			t.close()
			return nil, fmt.Errorf("%s: %w", t.place(at), err)
		}
		for slot, dep := range deps {
			i, met := known[dep.ID()]
			if met {
				dep.Close()
			} else {
				i = len(t.nodes)
				known[dep.ID()] = i
				t.add(dep, at, slot)
			}
			t.nodes[at].imports = append(t.nodes[at].imports, i)
		}
	}
	return t, nil
}

func (t *tree) add(m *runtime.Module, parent, slot int) {
	t.nodes = append(t.nodes, &node{module: m, kind: m.Kind(), linked: m.Properties()&runtime.Exportable != 0,
		parent: parent, slot: slot})
}

// close closes every module but the root, which is the caller's.
func (t *tree) close() {
	for _, n := range t.nodes[1:] {
		n.module.Close()
	}
}

// place is the position of a module in the tree, for errors.
func (t *tree) place(i int) string {
	var slots []string
	for at := i; t.nodes[at].parent >= 0; at = t.nodes[at].parent {
		slots = append(slots, fmt.Sprintf(".imports[%d]", t.nodes[at].slot))
	}
	const most = 8 // a deep chain is shortened to its ends
	if len(slots) > most {
		slots = slices.Concat(slots[:most/2], []string{fmt.Sprintf("…(%d more)", len(slots)-most)}, slots[len(slots)-most/2:])
	}
	slices.Reverse(slots)
	return fmt.Sprintf("module root%s (kind %q)", strings.Join(slots, ""), t.nodes[i].kind)
}

// number determines the order of the blob.
func (t *tree) number() error {
	imports, linked := make([][]int, len(t.nodes)), make([]bool, len(t.nodes))
	for i, n := range t.nodes {
		imports[i], linked[i] = n.imports, n.linked
	}
	var err error
	t.entries, t.rowPtr, t.children, err = blob.Number(imports, linked)
	var cycle *blob.OrderError
	if errors.As(err, &cycle) {
		from, between, to := t.mergedCycle()
		return invalid("%s and %s are both linked, and become one library. It would import itself: the first imports %s, "+
			"which imports the "+
			"second, directly or through others. Link what lies between them too, or let the second be saved as bytes: %w",
			t.place(from), t.place(to), t.place(between), cycle)
	}
	return err
}

// mergedCycle finds a linked module that imports one that isn't linked, which reaches a linked one.
func (t *tree) mergedCycle() (from, between, to int) {
	for _, from := range t.linked() {
		for _, between := range t.nodes[from].imports {
			if t.nodes[between].linked {
				continue
			}
			seen := map[int]bool{between: true}
			for stack := []int{between}; len(stack) > 0; {
				at := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if t.nodes[at].linked {
					return from, between, at
				}
				for _, dep := range t.nodes[at].imports {
					if !seen[dep] {
						seen[dep] = true
						stack = append(stack, dep)
					}
				}
			}
		}
	}
	return 0, 0, 0
}

// linked lists the nodes that are compiled into the library, in the order of their files.
func (t *tree) linked() []int {
	var list []int
	for i, n := range t.nodes {
		if n.linked {
			list = append(list, i)
		}
	}
	return list
}

// needsBlob reports whether the library needs a blob. As with TVM, it does if the root has imports, even if all modules
// are linked.
func (t *tree) needsBlob() bool { return !t.nodes[0].linked || len(t.nodes[0].imports) > 0 }

// isLibrary reports whether an entry of the blob is the library itself.
func (t *tree) isLibrary(entry int) bool { return t.nodes[t.entries[entry][0]].linked }

// blob serialises all modules that are not linked.
func (t *tree) blob(layout blob.Layout) (*blob.Blob, error) {
	b := &blob.Blob{Layout: layout, RowPtr: t.rowPtr, Children: t.children}
	for k, members := range t.entries {
		if t.isLibrary(k) {
			b.Entries = append(b.Entries, blob.Entry{Kind: blob.LibraryKey})
			continue
		}
		n := t.nodes[members[0]]
		if n.module.Properties()&runtime.Serializable == 0 {
			return nil, runtime.Errorf(runtime.ErrNotSupported, "%s can be neither linked nor saved as bytes: leave it out, "+
				"and import it again "+
				"where the library is loaded", t.place(members[0]))
		}
		payload, err := n.module.SaveToBinaryFor(layout)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.place(members[0]), err)
		}
		b.Entries = append(b.Entries, blob.Entry{Kind: n.kind, Payload: payload})
	}
	return b, nil
}

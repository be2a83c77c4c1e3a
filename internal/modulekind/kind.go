// Package modulekind describes the kinds of modules that this module knows. Each kind has one descriptor, in the file
// of its name, that states every fact about it: the form of its payload, the suffixes of its files, the package that
// runs it. Package blob, the runtime, the commands and the C core (kinds_gen.h) take them from here.
//
// A descriptor is data. What is done with a payload of some form (parsing it, making a module of it, splitting it into
// files) is code of the package that does it, and is selected by [Form], not by the name of a kind.
package modulekind

import (
	"cmp"
	"slices"
	"strings"
)

// Form is the form of a payload: kinds of one form are read and written by the same code.
type Form int

// The forms. The layouts of their bytes are in package blob.
const (
	Opaque      Form = iota // passed on unread
	Device                  // kernels: a format, a table of functions, one image or source
	Shaders                 // kernels: a format, a table of functions, SPIR-V for each
	Metal                   // kernels: sources in Metal's language; passed on unread by the runtime
	Source                  // source code that an exporter compiles
	Object                  // an object file that an exporter links
	Constants               // tensors for other modules
	GraphText               // a graph executor's graph with its parameters
	SymbolGraph             // a symbol with a graph in JSON, of accelerator libraries
	Program                 // an executable of a virtual machine
)

// loads has the forms whose modules this module loads, if only to pass them on.
var loads = []Form{Opaque, Device, Shaders, Metal, Source, Object, Constants}

// Kind describes a kind of module. It must not be changed.
type Kind struct {
	Name    string
	OldName string // in the payload keys of old files, instead of Name; may be empty
	Form    Form
	// Family is true if Name is a suffix that many kinds share.
	Family bool
	// Exportable kinds are compiled or linked into a library instead of being saved in its blob.
	Exportable bool
	// Files are the formats of files that modules of the kind are loaded from.
	Files []Format
	// Creator is the global function by which C and Python make such a module; may be empty.
	Creator string
	// Import is the package of this module that runs modules of the kind; empty if there is none. It enables the device
	// type Name.
	Import string
	// Unsupported says why no program can use modules of the kind, and what to do instead; may be empty.
	Unsupported string
}

// Format is a format of files.
type Format struct {
	Suffix string // without its dot
	// Code is the name of the format inside payloads, where it is not the suffix.
	Code string
	// Text is true if the code in such a file is text.
	Text bool
}

// Name is the name of the format inside payloads.
func (f *Format) Name() string { return cmp.Or(f.Code, f.Suffix) }

// Suffixes are those of the kind's files.
func (k *Kind) Suffixes() []string {
	list := make([]string, len(k.Files))
	for i, f := range k.Files {
		list[i] = f.Suffix
	}
	return list
}

// Loads reports whether this module loads modules of the kind, if only to pass them on.
func (k *Kind) Loads() bool { return slices.Contains(loads, k.Form) && k.Unsupported == "" }

// Library is the kind of a loaded shared library. It has no descriptor, because it has no payload.
const Library = "library"

var all []*Kind

// register adds the descriptor of a kind.
func register(k Kind) *Kind {
	all = append(all, &k)
	slices.SortFunc(all, func(a, b *Kind) int { return cmp.Compare(a.Name, b.Name) })
	return &k
}

// All returns the kinds by name.
func All() []*Kind { return slices.Clone(all) }

// OfForm returns the names of the kinds with a form of payload.
func OfForm(f Form) []string {
	var names []string
	for _, k := range all {
		if k.Form == f {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find returns the kind of a name, which may be an old one or belong to a family; nil if there is none.
func Find(name string) *Kind {
	for _, k := range all {
		if k.Name == name || k.OldName == name && name != "" || k.Family && strings.HasSuffix(name, k.Name) {
			return k
		}
	}
	return nil
}

// FormOf is the form of a kind's payload, Opaque for a kind that is not known.
func FormOf(name string) Form {
	if k := Find(name); k != nil {
		return k.Form
	}
	return Opaque
}

// WithSuffix returns the kinds that a file with a suffix (without its dot) may contain, by name.
func WithSuffix(suffix string) []*Kind {
	var list []*Kind
	for _, k := range all {
		if slices.ContainsFunc(k.Files, func(f Format) bool { return f.Suffix == suffix }) {
			list = append(list, k)
		}
	}
	return list
}

// CodeFormat returns the format that a payload of form Device names; for a name that no kind declares, a format with
// that suffix.
func CodeFormat(name string) Format {
	for _, k := range all {
		for _, f := range k.Files {
			if k.Form == Device && (f.Name() == name || f.Suffix == name) {
				return f
			}
		}
	}
	return Format{Suffix: name}
}

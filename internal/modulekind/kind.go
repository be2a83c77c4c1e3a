// Package modulekind describes the kinds of modules that this Go module supports. Each kind has one descriptor, in the
// file with its name, which contains every fact about it: the form of its payload, the suffixes of its files, the
// package that runs it. Package blob, the runtime, the commands and the C core (kinds_gen.h) use the descriptors.
//
// A descriptor is data. The code that parses a payload, makes a module from it or splits it into files is in the
// packages that need it, and is selected by [Form], not by the name of a kind.
package modulekind

import (
	"cmp"
	"slices"
	"strings"
)

// Form is the form of a payload: the same code reads and writes all kinds with one form.
type Form int

// The forms of payloads. Package blob defines their bytes.
const (
	Opaque      Form = iota // copied without being parsed
	Device                  // kernels: a format, a table of functions, one image or source
	Shaders                 // kernels: a format, a table of functions, SPIR-V for each
	Metal                   // kernels: sources in Metal's language; copied without being parsed by the runtime
	Source                  // source code that an exporter compiles
	Object                  // an object file that an exporter links
	Constants               // tensors for other modules
	GraphText               // a graph executor's graph with its parameters
	SymbolGraph             // a symbol with a graph in JSON, of accelerator libraries
	Program                 // an executable of a virtual machine
)

// loads lists the forms whose modules can be loaded, if only to save them again.
var loads = []Form{Opaque, Device, Shaders, Metal, Source, Object, Constants, GraphText, Program}

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
	// Import is the package of this module that runs modules of the kind; empty if there is none. That of a device
	// enables the device type Name.
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

// Suffixes returns the suffixes of the kind's files.
func (k *Kind) Suffixes() []string {
	list := make([]string, len(k.Files))
	for i, f := range k.Files {
		list[i] = f.Suffix
	}
	return list
}

// Loads reports whether modules of the kind can be loaded, if only to save them again.
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

// All returns all kinds, sorted by name.
func All() []*Kind { return slices.Clone(all) }

// OfForm returns the names of the kinds whose payloads have the given form.
func OfForm(f Form) []string {
	var names []string
	for _, k := range all {
		if k.Form == f {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find returns the kind with a name, which can be an old name or belong to a family; nil if there is none.
func Find(name string) *Kind {
	for _, k := range all {
		if k.Name == name || k.OldName == name && name != "" || k.Family && strings.HasSuffix(name, k.Name) {
			return k
		}
	}
	return nil
}

// FormOf returns the form of a kind's payload, Opaque for an unknown kind.
func FormOf(name string) Form {
	if k := Find(name); k != nil {
		return k.Form
	}
	return Opaque
}

// WithSuffix returns the kinds that a file with a suffix (without its dot) can contain, sorted by name.
func WithSuffix(suffix string) []*Kind {
	var list []*Kind
	for _, k := range all {
		if slices.ContainsFunc(k.Files, func(f Format) bool { return f.Suffix == suffix }) {
			list = append(list, k)
		}
	}
	return list
}

// CodeFormat returns the format with the name that a payload of form Device contains. For an unknown name it returns a
// format with the name as suffix.
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

package abi

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tvmgo/dlpack"
)

// Placeholders in snippets, which each user replaces: Shared precedes functions that may be compiled once for several C
// files of one program, Weak precedes variables that each of them defines. In a program with a single C file, Shared
// becomes static, and Weak is removed ([Piece.Alone]).
const (
	Shared = "TVMGO_SHARED "
	Weak   = "TVMGO_WEAK "
)

// Snippets are named pieces of C. A name may have a second form, for the calling convention of TVM v0.20 and older.
type Snippets map[string]*snippet

type snippet struct {
	code, classic string
	needs         []string // the snippets that must precede it
}

//go:embed snippets
var files embed.FS

// All are the snippets of this package.
var All = Read(files)

// Read reads the snippets of C files, and adds the other snippets. A line "//// name: needs" begins a snippet and lists
// the snippets that it needs; "//// name classic" begins its form for the classic convention, which needs the same
// ones.
func Read(files fs.FS, others ...Snippets) Snippets {
	names := strings.NewReplacer("TVMGO_DEVICE_NAMES", deviceNames(), "TVMGO_TYPE_NAMES", typeNames())
	all := Snippets{}
	for _, other := range others {
		maps.Copy(all, other)
	}
	paths, err := fs.Glob(files, "snippets/*.c")
	for _, path := range paths {
		data, readErr := fs.ReadFile(files, path)
		if readErr != nil {
			err = readErr
		}
		for _, part := range strings.Split("\n"+string(data), "\n//// ")[1:] {
			head, code, _ := strings.Cut(part, "\n")
			code = names.Replace(strings.TrimRight(code, "\n") + "\n")
			if name, ok := strings.CutSuffix(head, " classic"); ok {
				all[name].classic = code
				continue
			}
			name, needs, _ := strings.Cut(head, ":")
			all[name] = &snippet{code: code, needs: strings.Fields(needs)}
		}
	}
	if err != nil {
		panic(err) // the files are part of the program
	}
	return all
}

// Needs lists the snippets that a snippet needs directly.
func (s Snippets) Needs(name string) []string {
	if s[name] == nil {
		return nil
	}
	return s[name].needs
}

// deviceNames initializes an array of the names of device types.
func deviceNames() string {
	var list []string
	for _, d := range dlpack.DeviceTypes() {
		list = append(list, fmt.Sprintf("[%d] = %q", d.Type, d.Name))
	}
	return wrap(list)
}

// typeNames initializes an array of the names of data types, without bits where these follow.
func typeNames() string {
	var list []string
	for code := range dlpack.CodeFloat4E2M1FN + 1 {
		if name, err := (dlpack.DataType{Code: code, Bits: 8, Lanes: 1}).MarshalText(); err == nil {
			list = append(list, fmt.Sprintf("[%d] = %q", code, strings.TrimSuffix(string(name), "8")))
		}
	}
	return wrap(append(list, `[kDLComplex] = "complex"`))
}

// wrap writes a list in lines.
func wrap(list []string) string {
	var b strings.Builder
	for part := range slices.Chunk(list, 6) {
		b.WriteString("\n      " + strings.Join(part, ", ") + ",")
	}
	return strings.TrimSuffix(b.String(), ",")
}

// Piece is C code that occurs once in a file.
type Piece struct{ Name, Code string }

// Alone returns the C of a piece in a program with a single C file.
func (p Piece) Alone() string {
	return strings.NewReplacer(Shared, "static ", Weak, "").Replace(p.Code)
}

// Set contains the pieces of C that one file needs, each after those that it needs itself.
type Set struct {
	Snippets Snippets
	Classic  bool // the forms for TVM v0.20 and older
	// Instead returns C that replaces a snippet, in another language for example. It may be nil.
	Instead func(name string) (code string, ok bool)
	Pieces  []Piece

	has map[string]bool
}

// Add adds snippets, and those that they need.
func (s *Set) Add(names ...string) {
	for _, name := range names {
		if s.has[name] {
			continue
		}
		if s.Instead != nil {
			if code, ok := s.Instead(name); ok {
				s.AddText(name, code)
				continue
			}
		}
		found := s.Snippets[name]
		if found == nil {
			panic(fmt.Sprintf("abi: there is no snippet %q", name))
		}
		s.Add(found.needs...)
		code := found.code
		if s.Classic && found.classic != "" {
			code = found.classic
		}
		s.AddText(name, code)
	}
}

// AddText adds other C code under a name, unless the name exists already.
func (s *Set) AddText(name, code string) {
	if !s.has[name] {
		if s.has == nil {
			s.has = map[string]bool{}
		}
		s.has[name] = true
		s.Pieces = append(s.Pieces, Piece{name, code})
	}
}

// Alone returns the C of all pieces, for a program with a single C file.
func (s *Set) Alone() string {
	all := make([]string, len(s.Pieces))
	for i, p := range s.Pieces {
		all[i] = p.Alone()
	}
	return strings.Join(all, "\n")
}

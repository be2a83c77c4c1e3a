package vmcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tvmgo/blob"
)

// The first word of a file, without and with memory scopes.
const (
	magic1 = 0xD225DE2F4214151D
	magic2 = 0xD225DE2F4214151E
)

// bytecodeVersion is the first version of TVM with this bytecode; files contain it.
const bytecodeVersion = "0.14"

// newest is the newest version of TVM that is known to write this bytecode.
const newest = "v0.27"

// tags are the numbers of the types of constants, in the order of [ConstantKind].
var tags = map[Numbering][]int32{
	Modern:    {70, 5, 69, 65, 1, 3},
	Version21: {72, 5, 71, 65, 1, 3},
	Classic:   {0, 1, 2, 3, 4, 5},
}

// String names the versions of TVM.
func (n Numbering) String() string {
	switch n {
	case Modern:
		return "v0.22 and newer"
	case Version21:
		return "v0.21"
	case Classic:
		return "v0.20 and older"
	}
	return "numbering(" + strconv.Itoa(int(n)) + ")"
}

// Parse reads an executable, and checks it as [Executable.Check] does. Tensors are views of data. The executable begins
// with its magic number; with Automatic, its length may come first, as in files that TVM up to v0.20 saved.
//
// Corrupt input is an error for which errors.Is(err, [blob.ErrCorrupt]) holds; another version is a [VersionError].
// Memory stays within a small multiple of the input's size.
func Parse(data []byte, numbering Numbering) (*Executable, error) {
	r := blob.NewReader(data)
	if numbering == Automatic && len(data) >= 8 && r.U64("length") == uint64(len(data)-8) {
		data = data[8:]
	}
	return parse(func() *blob.Reader { return blob.NewReader(data) }, numbering)
}

// ParsePayload reads the executable in the payload of a module. The layout of its blob determines the numbering.
func ParsePayload(payload []byte, layout blob.Layout) (*Executable, error) {
	r := blob.NewReader(payload)
	if r.Program(layout); r.Finish("end of the executable") != nil {
		return nil, damaged(r.Err())
	}
	return parse(func() *blob.Reader { return blob.NewReader(payload).Program(layout) }, FormOf(layout).Numbering)
}

// parse reads the executable that open returns a reader of.
func parse(open func() *blob.Reader, numbering Numbering) (*Executable, error) {
	candidates := []Numbering{numbering}
	if numbering == Automatic {
		candidates = []Numbering{Modern, Version21, Classic}
	} else if tags[numbering] == nil {
		return nil, fmt.Errorf("read Relax executable: unknown %s: give Modern, Version21, Classic or Automatic", numbering)
	}
	var furthest error
	at := int64(-1)
	for _, n := range candidates {
		r := open()
		f := file{Executable: &Executable{Form: Form{Numbering: n}}}
		err := f.read(r)
		if err == nil {
			if err = f.decode(); err == nil {
				err = f.Check()
			}
			if err != nil {
				return nil, damaged(err)
			}
			return f.Executable, nil
		}
		if version := (*VersionError)(nil); errors.As(err, &version) {
			return nil, err
		}
		if r.Offset() > at {
			furthest, at = err, r.Offset()
		}
	}
	return nil, damaged(furthest)
}

func damaged(err error) error {
	return fmt.Errorf("read Relax executable: %w: the file is damaged: copy it or compile the model again", err)
}

// file is an executable whose instructions are still words of the file.
type file struct {
	*Executable
	starts, words words
}

// words is a view of 64-bit integers.
type words []byte

func (w words) len() int { return len(w) / 8 }

func (w words) at(i int) int64 { return int64(binary.LittleEndian.Uint64(w[8*i:])) }

// read reads the sections.
func (f *file) read(r *blob.Reader) error {
	if err := f.readHeader(r); err != nil {
		return err
	}
	f.readFunctions(r)
	scopes := f.readScopes(r)
	f.readConstants(r)
	f.setScopes(r, scopes)
	f.starts = r.Take(8*uint64(r.Count(8, "number of instructions")), "starts of instructions")
	f.words = r.Take(8*uint64(r.Count(8, "number of words")), "words of instructions")
	return r.Finish("end of the executable")
}

func (f *file) readHeader(r *blob.Reader) error {
	switch magic := r.U64("magic number"); {
	case r.Err() != nil:
		return r.Err()
	case magic == magic1:
		f.Form.Version = 1
	case magic == magic2:
		f.Form.Version = 2
	case magic > magic2 && magic < magic2+16:
		return &VersionError{Found: fmt.Sprintf("file version %d", magic-magic1+1), Reads: "1 and 2",
			Way: "run it with the version of TVM that wrote it, which is newer than " + newest +
				", or compile the model again with TVM up to " + newest}
	default:
		r.Fail("magic number", "an executable begins with %#x or %#x, not %#x", uint64(magic1), uint64(magic2), magic)
		return r.Err()
	}
	version := r.Bytes("bytecode version")
	if r.Err() != nil || string(version) == bytecodeVersion {
		return r.Err()
	}
	return otherVersion(string(version))
}

// otherVersion explains a bytecode version. Files contain the version of TVM that introduced their bytecode. Before
// v0.14, and for executables of Relay, that was each version.
func otherVersion(found string) error {
	e := &VersionError{Found: "bytecode version " + quoted(found),
		Reads: strconv.Quote(bytecodeVersion) + ", the bytecode of TVM v0.14 to " + newest}
	major, rest, _ := strings.Cut(found, ".")
	minor, rest, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(minor, 10, 16)
	switch {
	case err != nil || major != "0" && major != "1":
		e.Way = "the file is damaged: copy it or compile the model again"
	case major == "0" && (n < 14 || rest != ""): // a whole version, as Relay has it
		e.Way = "run it with TVM " + found + ", which alone reads it (as an executable of Relay, or of an early Relax), " +
			"or compile the model again with a version of Relax from v0.14 to " + newest
	default:
		e.Way = "run it with TVM v" + found + " or newer, or compile the model again with TVM up to " + newest
	}
	return e
}

// minFunction is the size in bytes of an entry of the function table without name and parameters.
const minFunction = 4 + 8 + 4*8 + 8

func (f *file) readFunctions(r *blob.Reader) {
	for i := range r.Count(minFunction, "number of functions") {
		if r.Err() != nil {
			return
		}
		what := fmt.Sprintf("function %d", i)
		var g Function
		g.Kind = FunctionKind(r.I32(what))
		g.Name = r.Str(what)
		numbers := [4]int{}
		for k := range numbers {
			numbers[k] = int(r.I64(what))
		}
		g.Parameters = r.Strs(what)
		switch g.Kind {
		case Packed: // its other fields have no meaning
			g.Parameters = nil
		case Bytecode:
			g.Begin, g.End, g.Arity, g.Registers = numbers[0], numbers[1], numbers[2], numbers[3]
		case CompiledVM:
			g.Arity, g.Registers = numbers[2], numbers[3]
		default:
			r.Fail(what, "%s has kind %d: expected 0 (packed), 1 (bytecode) or 2 (compiled)", quoted(g.Name), g.Kind)
		}
		f.Functions = append(f.Functions, g)
	}
}

// scopeEntry is the memory scope of a constant.
type scopeEntry struct {
	constant int64
	scope    string
}

func (f *file) readScopes(r *blob.Reader) []scopeEntry {
	if f.Form.Version < 2 {
		return nil
	}
	list := make([]scopeEntry, r.Count(16, "number of memory scopes"))
	for i := range list {
		list[i] = scopeEntry{r.I64("memory scope"), r.Str("memory scope")}
	}
	return list
}

func (f *file) setScopes(r *blob.Reader, list []scopeEntry) {
	for _, s := range list {
		if r.Err() != nil {
			return
		}
		fail := func(format string, args ...any) {
			r.Fail("memory scopes", "constant %d: %s", s.constant, fmt.Sprintf(format, args...))
		}
		if s.constant < 0 || s.constant >= int64(len(f.Constants)) {
			fail("there are %d constants", len(f.Constants))
			return
		}
		switch c := &f.Constants[s.constant]; {
		case s.scope == "":
			fail("the scope is empty")
		case c.Scope != "":
			fail("two scopes, %s and %s", quoted(c.Scope), quoted(s.scope))
		default:
			c.Scope = s.scope
			f.scoped = append(f.scoped, int(s.constant))
		}
	}
}

func (f *file) readConstants(r *blob.Reader) {
	for i := range r.Count(8, "number of constants") {
		if r.Err() != nil {
			return
		}
		f.Constants = append(f.Constants, f.readConstant(r, fmt.Sprintf("constant %d", i)))
	}
}

func (f *file) readConstant(r *blob.Reader, what string) Constant {
	tag := r.I32(what)
	c := Constant{Kind: kindOf(tag, f.Form.Numbering)}
	switch c.Kind {
	case TensorConstant:
		c.Tensor = r.Tensor(what)
	case DTypeConstant:
		c.DType = r.DType(what)
	case ShapeConstant:
		c.Shape = r.I64s(what)
	case StringConstant:
		c.Text = r.Str(what)
	case IntConstant:
		c.Int = r.I64(what)
	case FloatConstant:
		c.Float = r.F64(what)
	default:
		r.Fail(what, "%d is no type of a constant in files of TVM %s", tag, f.Form.Numbering)
	}
	return c
}

// kindOf returns the kind with a tag, -1 if there is none.
func kindOf(tag int32, n Numbering) ConstantKind {
	for kind, t := range tags[n] {
		if t == tag {
			return ConstantKind(kind)
		}
	}
	return -1
}

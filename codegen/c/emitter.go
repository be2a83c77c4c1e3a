package c

import (
	"errors"
	"fmt"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/alias"
)

// StackLimit is the largest allocation on the stack, in bytes.
const StackLimit = 1024

// LocalLimit is the same limit for scope local: tiles of accumulators that compilers keep in registers.
const LocalLimit = 16 << 10

// Hooks replace parts of C for a generator of another language. Each may be nil.
type Hooks struct {
	// Language is the name of the language in errors; "" is C.
	Language string
	// Reserved reports whether the language reserves a name, in addition to C.
	Reserved func(name string) bool
	// TypeName returns the name of a type of one lane; false: as in C.
	TypeName func(t tir.Type) (string, bool)
	// Class returns the snippet that defines the class of a float type of at most 16 bits, if the language has classes:
	// with operators + - * /, each of one rounding, a conversion from every number by a call of the type's name, and an
	// implicit conversion to float. Without it, such values are of type float and rounded after each operation.
	Class func(t tir.Type) (snippet string, ok bool)
	// ThreadIndex returns the expression of a thread's index ("threadIdx.x"). Without it, loops over threads are an
	// error.
	ThreadIndex func(tag string) (string, error)
	// Intrinsic returns the expression of an intrinsic call on expressions of one lane; "": as in C. The call has type
	// Void if it is a statement.
	Intrinsic func(call *tir.Call, args []string) (string, error)
	// Needs returns the snippets that the expression of Intrinsic uses.
	Needs func(call *tir.Call) []string
	// Math returns the name of a function of math.h whose arguments and result have type t. Without it, C's name is
	// used.
	Math func(name string, t tir.Type) string
	// Vectors describes the language's own vectors. Without it, those of the C compiler are used, and kernels have
	// none.
	Vectors Vectors
	// Snippet returns code that replaces a snippet of package c, such as "float16"; false: as in C.
	Snippet func(name string) (string, bool)
	// Snippets are further snippets, which take precedence over those of package c. Without it, there are none.
	Snippets abi.Snippets
	// Inline precedes the word inline of helper functions in the code: "static ". If it is empty, C's prefix is used,
	// which kernels do not have.
	Inline string
	// Pointer returns the type of a buffer's address for elements of the given type: "__global float*". Without it, the
	// type is element*.
	Pointer func(b *tir.Buffer, element string) string
	// Restrict is the word that declares that the memory of a pointer overlaps no other: "" is C's. ReadOnly says that
	// a kernel's pointers to memory that it only reads are declared const.
	Restrict string
	ReadOnly bool
	// Before returns lines before a body and its comment.
	Before func(f *tir.PrimFunc) string
	// Declare returns the head of a body, up to the brace, instead of "static int32_t NAME_body(params)".
	Declare func(f *tir.PrimFunc, body, params string) string
	// Scope returns the text before an allocation's type, such as "__shared__", or an error if the device does not have
	// the scope.
	Scope func(scope string) (string, error)
	// Alloc returns the statement that declares a kernel's allocation under a name, for memory that is not an array of
	// its own; "" for others.
	Alloc func(f *tir.PrimFunc, b *tir.Buffer, element, name string) string
	// Fragment returns the address of the fragment that begins at an element of a buffer in a scope of fragments
	// (tir.IsFragment), which is declared under a name.
	Fragment func(b *tir.Buffer, name, index string) string
	// Unroll returns the line before a loop of a kernel that the compiler is asked to unroll by this number of
	// iterations. nil: no line.
	Unroll func(iterations int64) string
	// Head returns the beginning of the file, instead of the comment and the includes. It declares int32_t and similar
	// types if the language lacks them. Prologue and Epilogue return the beginning and the end of each body.
	Head               func(m *tir.IRModule, t *target.Target) string
	Prologue, Epilogue func(f *tir.PrimFunc) string
	// Finish returns the final text.
	Finish func(code string) string
}

// Emitter writes modules as C. The zero value writes C for the CPU by the tvm-ffi convention. It is safe for concurrent
// use.
type Emitter struct {
	Hooks
	// Classic exports functions by the convention of TVM v0.20 and older.
	Classic bool
	// Kernels generates code for a device: only bodies, which return nothing, run one iteration of each loop over
	// threads, and cannot fail. Memory is local, or of a scope that the hook accepts. Vectors that the hook does not
	// have are loops over their lanes.
	Kernels bool
	several bool // one of several C files that are linked
}

// Emit returns the C of a module. t may be nil.
func (e *Emitter) Emit(m *tir.IRModule, t *target.Target) (code string, err error) {
	code, _, err = e.emit(m, t)
	return code, err
}

// emit is Emit, and also returns the snippets of the text.
func (e *Emitter) emit(m *tir.IRModule, t *target.Target) (code string, pieces []abi.Piece, err error) {
	if m == nil {
		return "", nil, errors.New("write " + e.language() + ": the module is nil")
	}
	g := &generator{hooks: &e.Hooks, classic: e.Classic, several: e.several, kernels: e.Kernels,
		noVectors: e.Kernels && e.Vectors == nil, module: m, target: t, typedefs: map[string]bool{},
		snippets: abi.Set{Snippets: snippets, Classic: e.Classic, Instead: e.Snippet},
		externs:  map[string]string{}, siblings: map[string]bool{}, checks: map[string]*check{},
		same: map[*tir.PrimFunc]*tir.PrimFunc{}, shared: map[*tir.PrimFunc]bool{}, found: map[string]string{},
		names: names{taken: map[string]bool{}, also: e.Reserved}}
	if e.Snippets != nil {
		g.snippets.Snippets = e.Snippets
	}
	defer func() {
		if p := recover(); p != nil { // a node that Check rejects, such as a nil one
			code, pieces, err = "", nil, fmt.Errorf("write %s: %sthe program is malformed (%v): check it with tir.Check",
				e.language(), g.where(), p)
		}
	}()
	text := g.generate()
	if g.err != nil {
		return "", nil, fmt.Errorf("write %s: %w", e.language(), g.err)
	}
	if e.Finish != nil {
		text = e.Finish(text)
	}
	return text, g.snippets.Pieces, nil
}

func (h *Hooks) language() string {
	if h.Language == "" {
		return "C"
	}
	return h.Language
}

// deepestIndent is the largest indentation: with thousands of levels, most of the text would be blanks.
const deepestIndent = 64

// text is a buffer for generated code.
type text struct {
	strings.Builder
	depth int
}

func (t *text) line(format string, args ...any) {
	if format != "" {
		t.WriteString(strings.Repeat("  ", min(t.depth, deepestIndent)))
		fmt.Fprintf(t, format, args...)
	}
	t.WriteByte('\n')
}

// generator writes one module.
type generator struct {
	hooks     *Hooks
	classic   bool
	several   bool
	kernels   bool
	noVectors bool
	module    *tir.IRModule
	target    *target.Target

	names     names // names of the whole file
	long      longPieces
	functions map[string]*function
	current   string // the function that is being written, for errors

	snippets  abi.Set
	types     text // typedefs
	typedefs  map[string]bool
	externs   map[string]string // the prototype of each C function that is called
	protos    text
	siblings  map[string]bool                 // functions of the program that protos declare
	statics   text                            // caches of packed calls
	found     map[string]string               // the cache variable of each packed function, by name
	same      map[*tir.PrimFunc]*tir.PrimFunc // functions that share the body of another one
	shared    map[*tir.PrimFunc]bool          // functions whose body is shared
	checks    map[string]*check               // the functions that check arguments, by their text
	checkList []*check                        // in their order
	about     text                            // metadata of functions
	origins   map[string]About                // from the module's attribute; nil: not read yet
	aliases   map[string][]alias.Pair         // the same
	usesTasks bool

	err error
}

func (g *generator) where() string {
	if g.current == "" {
		return ""
	}
	return "function " + g.current + ": "
}

// fail keeps the first error.
func (g *generator) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("%s%w", g.where(), fmt.Errorf(format, args...))
	}
}

func (g *generator) generate() string {
	g.functions = map[string]*function{}
	g.reserve()
	g.findSame()
	for _, f := range g.module.Funcs {
		g.declare(f)
	}
	var bodies, entries text
	for _, f := range g.module.Funcs {
		if g.err != nil {
			return ""
		}
		g.current = f.Name
		if g.same[f] == nil && !dispatches(f) {
			g.body(g.functions[f.Name], &bodies)
		}
	}
	if !g.kernels {
		for _, f := range g.module.Funcs {
			if g.err != nil {
				return ""
			}
			g.current = f.Name
			g.entry(g.functions[f.Name], &entries)
		}
	}
	g.current = ""
	var all text
	all.WriteString(g.head())
	part := func(t *text) {
		if t.Len() > 0 {
			all.line("")
			all.WriteString(t.String())
		}
	}
	part(&g.types)
	part(g.snippetCode())
	part(&g.protos)
	part(&g.statics)
	var forward text
	if len(g.module.Funcs) > 1 && !g.kernels {
		for _, f := range g.module.Funcs {
			if g.same[f] == nil && !dispatches(f) {
				forward.line("%s;", g.functions[f.Name].head)
			}
		}
	}
	part(&forward)
	all.WriteString(bodies.String())
	var checks text
	for _, c := range g.checkList {
		c.write(&checks)
	}
	all.WriteString(checks.String())
	all.WriteString(entries.String())
	part(&g.about)
	return g.long.whole(all.String())
}

// reserve reserves the names of C functions before variables are named.
func (g *generator) reserve() {
	for _, f := range g.module.Funcs {
		if f == nil {
			continue
		}
		g.names.taken[f.Name], g.names.taken[f.Name+"_body"] = true, true
		tir.Walk(f.Body, func(node any) bool {
			if c, ok := node.(*tir.Call); ok && c.Kind == tir.CallExtern {
				g.names.taken[c.Name] = true
			}
			return true
		})
	}
}

// head returns the beginning of the file.
func (g *generator) head() string {
	if g.hooks.Head != nil {
		return g.hooks.Head(g.module, g.target)
	}
	if g.kernels {
		return ""
	}
	var t text
	t.line("/* Generated by tvmgo. */")
	for _, h := range []string{"math.h", "stdarg.h", "stdbool.h", "stdint.h", "stdio.h", "string.h"} {
		t.line("#include <%s>", h)
	}
	if !g.classic {
		t.line("#include <tvm/ffi/extra/c_env_api.h>")
	}
	t.line("#include <tvm/runtime/c_backend_api.h>")
	t.line("")
	t.line("/* A program may contain comparisons that are always true or always false. */")
	t.line("#pragma GCC diagnostic ignored \"-Wtype-limits\"")
	t.line("#pragma GCC diagnostic ignored \"-Wtautological-compare\"")
	t.line("/* Variables are set and read under the same condition, which compilers cannot always prove. */")
	t.line("#if defined(__GNUC__) && !defined(__clang__)")
	t.line("#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"")
	t.line("#endif")
	return t.String()
}

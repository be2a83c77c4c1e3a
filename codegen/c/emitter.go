package c

import (
	"errors"
	"fmt"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// StackLimit is the largest allocation on the stack, in bytes.
const StackLimit = 1024

// LocalLimit is the same limit for scope local: tiles of accumulators that compilers keep in registers.
const LocalLimit = 16 << 10

// Hooks replace parts of C for a generator of another language. Each may be nil.
type Hooks struct {
	// Language is what errors call the language; "" is C.
	Language string
	// Reserved reports whether a name means something in the language, beside what it means in C.
	Reserved func(name string) bool
	// TypeName is what a type of one lane is called; false: as in C.
	TypeName func(t tir.Type) (string, bool)
	// ThreadIndex is the expression of a thread's index ("threadIdx.x"). Without it, loops over threads are an error.
	ThreadIndex func(tag string) (string, error)
	// Intrinsic is the expression of a call of an intrinsic on expressions of one lane; "": as in C. A statement's has
	// type Void.
	Intrinsic func(call *tir.Call, args []string) (string, error)
	// Math is what a function of math.h, which takes and gives t, is called. Without it C's name.
	Math func(name string, t tir.Type) string
	// Vectors are the language's own. Without them those of the compiler, and in kernels none.
	Vectors Vectors
	// Snippet is a piece of code in the place of one of package c's, such as "float16"; false: as in C.
	Snippet func(name string) (string, bool)
	// Inline stands before the word inline of functions that the code has for itself: "static ". Without it C's, which
	// kernels have not.
	Inline string
	// Pointer is the type of a buffer's address, whose elements are of the type that is given: "__global float*".
	// Without it a star.
	Pointer func(b *tir.Buffer, element string) string
	// Before stands on lines of its own before a body and its comment.
	Before func(f *tir.PrimFunc) string
	// Declare is the head of a body, up to the brace, in the place of "static int32_t NAME_body(params)".
	Declare func(f *tir.PrimFunc, body, params string) string
	// Scope is what stands before an allocation's type, such as "__shared__"; an error where the device has no such
	// scope.
	Scope func(scope string) (string, error)
	// Unroll is the line before a loop of a kernel of which the compiler should unroll so many iterations. nil: no
	// line.
	Unroll func(iterations int64) string
	// Head stands before all, in the place of the comment and the includes. It declares int32_t and the like, where the
	// language has not. Prologue and Epilogue stand at the beginning and the end of each body.
	Head               func(m *tir.IRModule, t *target.Target) string
	Prologue, Epilogue func(f *tir.PrimFunc) string
	// Finish has the last word on the text.
	Finish func(code string) string
}

// Emitter writes modules as C. The zero value writes C for the CPU by the tvm-ffi convention. It is safe for concurrent
// use.
type Emitter struct {
	Hooks
	// Classic exports functions by the convention of TVM v0.20 and older.
	Classic bool
	// Kernels writes code for a device: bodies alone, which return nothing, run one iteration of each loop over
	// threads, and can't fail. Memory is local, or of a scope that the hook knows, and vectors that the hook does not
	// know are loops over their lanes.
	Kernels bool
	several bool // it is one of several texts that are linked
}

// Emit returns the C of a module. t may be nil.
func (e *Emitter) Emit(m *tir.IRModule, t *target.Target) (code string, err error) {
	code, _, err = e.emit(m, t)
	return code, err
}

// emit is Emit. It also returns the snippets of the text.
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

// text is code that is being written.
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

	names     names // of the whole file
	long      longPieces
	functions map[string]*function
	current   string // the function that is being written, for errors

	snippets  abi.Set
	types     text // typedefs
	typedefs  map[string]bool
	externs   map[string]string // the prototype of each C function that is called
	protos    text
	siblings  map[string]bool                  // functions of the program that protos declare
	statics   text                             // what packed calls have found
	found     map[string]string                // its variable, by the name that is looked up
	same      map[*tir.PrimFunc]*tir.PrimFunc  // functions whose body is that of another one
	shared    map[*tir.PrimFunc]bool           // those others
	checks    map[string]*check                // the functions that check arguments, by their text
	checkList []*check                         // in their order
	about     text                             // what functions say of themselves
	origins   map[string]About                 // of the module's attribute; nil: not read yet
	aliases   map[string][]transform.AliasPair // likewise
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
		if g.same[f] == nil {
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
			if g.same[f] == nil {
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

// reserve takes the names that C functions have, before variables take them.
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

// head is the beginning of the file.
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
	t.line("/* A program may well compare what can only have one result. */")
	t.line("#pragma GCC diagnostic ignored \"-Wtype-limits\"")
	t.line("#pragma GCC diagnostic ignored \"-Wtautological-compare\"")
	t.line("/* What is written under a condition is read under the same one, which compilers cannot always tell. */")
	t.line("#if defined(__GNUC__) && !defined(__clang__)")
	t.line("#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"")
	t.line("#endif")
	return t.String()
}

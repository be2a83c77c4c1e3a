package c

import (
	"fmt"
	"maps"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/transform"
)

// function is a function of the module, with the information that its callers and its entry need.
type function struct {
	*tir.PrimFunc
	body   string // its name in C
	head   string
	params []param
	extras []param // sizes that shapes bind, and tensors that are passed to packed calls
	used   map[*tir.Var]bool
	read   map[*tir.Var]bool     // addresses of memory that is not only written
	parts  map[*tir.Var]*tir.Var // by buffer address: the parameter that may be a part of its buffer: see partsOf
	names  names
	vars   map[*tir.Var]string
}

// param is a parameter of a body.
type param struct {
	v      *tir.Var
	buffer *tir.Buffer // of a tensor
	ctype  string
	name   string
	handle bool // the tensor itself, as packed functions take it
}

// declare determines the head of a body.
func (g *generator) declare(f *tir.PrimFunc) {
	if f == nil || f.Body == nil {
		g.fail("a function is nil, or has no body")
		return
	}
	g.current = f.Name
	defer func() { g.current = "" }()
	if !isIdentifier(f.Name) {
		g.fail("the name %q is not valid in %s: use letters, digits and _", f.Name, g.hooks.language())
		return
	}
	if g.kernels && g.hooks.Reserved != nil && g.hooks.Reserved(f.Name) {
		g.fail("the name %q is reserved in %s, and kernels are launched by their own: give it another", f.Name,
			g.hooks.language())
		return
	}
	if g.functions[f.Name] != nil {
		g.fail("there are two functions of this name")
		return
	}
	fn := &function{PrimFunc: f, used: map[*tir.Var]bool{}, read: map[*tir.Var]bool{}, names: *g.names.within(),
		vars: map[*tir.Var]string{}}
	g.functions[f.Name] = fn
	fn.body = f.Name + "_body"
	for g.module.Func(fn.body) != nil {
		fn.body += "_"
	}
	if g.kernels {
		fn.body = f.Name
	}
	if first := g.same[f]; first != nil {
		fn.body = g.functions[first.Name].body
	}
	fn.collect(f.Body)
	fn.parts = partsOf(f)
	restrict := ""
	if b, _ := f.Attrs[transform.AttrNoAlias].(bool); b {
		restrict = " restrict"
		if g.hooks.Restrict != "" {
			restrict = " " + g.hooks.Restrict
		}
	}
	var written map[*tir.Var]bool
	if g.hooks.ReadOnly {
		written = fn.written()
	}
	isParam := map[*tir.Var]bool{}
	for i, v := range f.Params {
		if v == nil || isParam[v] {
			g.fail("parameter %d is nil, or occurs twice", i)
			return
		}
		isParam[v] = true
		p := param{v: v, buffer: f.Buffers[v], ctype: g.valueType(v.Type)}
		if v.Type.Lanes != 1 {
			g.fail("parameter %s is a vector of type %s: pass a tensor", v.Name, v.Type)
		}
		if p.buffer != nil {
			if !tir.IsHandle(v.Type) || p.buffer.Data == nil {
				g.fail("parameter %s stands for buffer %s: it must be of type handle, and the buffer have an address", v.Name,
					p.buffer.Name)
				return
			}
			if p.ctype = g.pointerType(p.buffer); strings.HasSuffix(p.ctype, "*") { // else an image
				p.ctype += restrict
			}
			if written != nil && !written[p.buffer.Data] {
				p.ctype = "const " + p.ctype
			}
			p.name = fn.names.pick(p.buffer.Name)
			fn.vars[p.buffer.Data] = p.name
		} else {
			p.name = fn.names.pick(v.Name)
			fn.vars[v] = p.name
		}
		fn.params = append(fn.params, p)
	}
	for _, p := range fn.params {
		if p.buffer == nil {
			continue
		}
		for _, e := range shapeParts(p.buffer) {
			if v, ok := e.(*tir.Var); ok && fn.vars[v] == "" {
				fn.vars[v] = fn.names.pick(v.Name)
				if fn.used[v] {
					fn.extras = append(fn.extras, param{v: v, ctype: g.valueType(v.Type), name: fn.vars[v]})
				}
			}
		}
		if (fn.used[p.v] || fn.used[p.buffer.Data] && fn.parts[p.buffer.Data] != nil) && p.v != p.buffer.Data {
			fn.extras = append(fn.extras, param{v: p.v, buffer: p.buffer, ctype: "const DLTensor*", handle: true,
				name: fn.names.pick(p.buffer.Name + "_tensor")})
		}
	}
	all := fn.allParams()
	list := make([]string, 0, len(all)+2)
	if g.shared[f] {
		list = append(list, "const char* "+selfName)
	}
	for _, p := range all {
		list = append(list, p.ctype+" "+p.name)
	}
	if f.Result != tir.Void && f.Result != (tir.Type{}) {
		if g.kernels || f.Result.Lanes != 1 || g.valueType(f.Result) == "void*" {
			g.fail("a result of type %s: only numbers of one lane can be, and none on a device", f.Result)
		}
		list = append(list, g.valueType(f.Result)+"* result")
	}
	if len(list) == 0 {
		list = append(list, "void")
	}
	params := strings.Join(list, ", ")
	if g.hooks.Declare != nil {
		fn.head = g.hooks.Declare(f, fn.body, params)
	} else if g.kernels {
		fn.head = fmt.Sprintf("void %s(%s)", fn.body, params)
	} else {
		inline := ""
		if g.shared[f] {
			inline = noInline
		}
		fn.head = fmt.Sprintf("static %sint32_t %s(%s)", inline, fn.body, params)
	}
}

// written returns the addresses of memory that a kernel may write.
func (fn *function) written() map[*tir.Var]bool {
	all := map[*tir.Var]bool{}
	sources := map[tir.Expr]bool{} // addresses that are only read
	tir.Walk(fn.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferStore:
			all[n.Buffer.Data] = true
		case *tir.BufferLoad:
		case *tir.Call:
			switch {
			case n.Name == "async_copy" && len(n.Args) > 1:
				sources[n.Args[1]] = true
			case n.Name == "fragment_load" && len(n.Args) > 4:
				sources[n.Args[4]] = true
			}
			if n.Name == "address_of" && !sources[n] || n.Name == transform.ReportIndex {
				tir.Walk(n, func(part any) bool {
					if l, ok := part.(*tir.BufferLoad); ok {
						all[l.Buffer.Data] = true
					}
					return true
				})
			}
		case *tir.Var:
			all[n] = true // its address is passed on
		case *tir.AttrStmt:
		default:
			_, buffers := tir.Named(n)
			for _, b := range buffers {
				all[b.Data] = true
			}
		}
		return true
	})
	return all
}

func (fn *function) allParams() []param { return append(append([]param{}, fn.params...), fn.extras...) }

// hasResult reports whether the function returns a value.
func (fn *function) hasResult() bool { return fn.Result != tir.Void && fn.Result != tir.Type{} }

// shapeParts returns the expressions of a buffer that fields of a tensor determine.
func shapeParts(b *tir.Buffer) []tir.Expr {
	all := append(append([]tir.Expr{}, b.Shape...), b.Strides...)
	if b.Offset != nil {
		all = append(all, b.Offset)
	}
	return all
}

// collect finds the variables that a body uses, including those of the buffers that it reads and writes.
func (fn *function) collect(body tir.Stmt) {
	buffers := map[*tir.Buffer]bool{}
	var visit func(node any) bool
	buffer := func(b *tir.Buffer) {
		if b == nil || buffers[b] {
			return
		}
		buffers[b] = true
		fn.used[b.Data] = true
		steps := b.Strides
		if steps == nil && len(b.Shape) > 0 {
			steps = b.Shape[1:]
		}
		for _, e := range steps {
			tir.Walk(e, visit)
		}
		if b.Offset != nil {
			tir.Walk(b.Offset, visit)
		}
	}
	visit = func(node any) bool {
		switch n := node.(type) {
		case *tir.Var:
			fn.used[n], fn.read[n] = true, true
		case *tir.BufferLoad:
			if n.Buffer != nil {
				fn.read[n.Buffer.Data] = true
			}
			buffer(n.Buffer)
		case *tir.BufferStore:
			buffer(n.Buffer)
		case *tir.Alloc:
			for _, e := range shapeParts(n.Buffer) {
				tir.Walk(e, visit)
			}
		case *tir.AttrStmt:
		default:
			vars, buffers := tir.Named(n)
			for _, v := range vars {
				fn.used[v], fn.read[v] = true, true
			}
			for _, b := range buffers {
				buffer(b)
				fn.read[b.Data] = true
			}
		}
		return true
	}
	tir.Walk(body, visit)
}

// writer writes the statements of one C function: a body, or the iterations of a parallel loop.
type writer struct {
	*generator
	fn     *function
	out    *text
	before *text // code that must precede this C function
	names  names
	vars   map[*tir.Var]string
	types  map[*tir.Var]string // the type that the address of a buffer points to
	spans  map[*tir.Var]span   // ranges of sizes, loop variables and lets
	facts  *facts
	// multiples knows what divides the values of lets
	multiples arith.Multiples
	arrays    map[*tir.Var]bool     // vectors that are stored as arrays of lanes
	spreads   map[*tir.Var][]string // vectors whose lanes are expressions of their own
	labels    names                 // unique in a C function
	leave     *cleanup              // the target of errors; nil: return from the function
	// deviceID is the number of the device on which memory is allocated, unless that is the CPU.
	deviceID string
	usesRC   bool
	inTask   bool
	// nonTemporal has the buffers whose vectors are stored past the caches here; passesCaches reports whether any was.
	nonTemporal  map[*tir.Var]bool
	passesCaches bool
	wide         bool // indices are computed in 64 bits: see wideIndex
	// mayReturn reports whether the function may return early without an error.
	mayReturn bool
}

// body writes a function.
func (g *generator) body(fn *function, to *text) {
	w := &writer{generator: g, fn: fn, before: to, names: *fn.names.within(), vars: map[*tir.Var]string{},
		types:  map[*tir.Var]string{},
		arrays: map[*tir.Var]bool{}, spreads: map[*tir.Var][]string{}, labels: names{taken: map[string]bool{}},
		out:       &text{depth: 1},
		mayReturn: returns(fn.Body)}
	maps.Copy(w.vars, fn.vars)
	w.learnSizes()
	for _, p := range fn.extras {
		if p.handle {
			w.vars[p.v] = p.name
		}
	}
	for _, p := range fn.params {
		if p.buffer != nil {
			w.types[p.buffer.Data] = g.storageType(p.buffer.DType)
		}
	}
	if fn.hasResult() {
		w.out.line("*result = 0;")
	}
	w.stmt(fn.Body)
	w.fence()
	to.line("")
	if g.hooks.Before != nil {
		to.WriteString(g.hooks.Before(fn.PrimFunc))
	}
	to.line("/* %s */", comment(fn.signature()))
	to.line("%s {", fn.head)
	if g.hooks.Prologue != nil {
		to.WriteString(g.hooks.Prologue(fn.PrimFunc))
	}
	params := fn.allParams()
	if g.shared[fn.PrimFunc] {
		params = append(params, param{name: selfName})
	}
	body := w.out.String()
	for _, p := range params {
		if !w.long.hasWord(body, p.name) {
			to.line("  (void)%s;", p.name)
		}
	}
	if w.usesRC {
		to.line("  int32_t rc = 0;")
	}
	to.WriteString(w.out.String())
	if g.hooks.Epilogue != nil {
		to.WriteString(g.hooks.Epilogue(fn.PrimFunc))
	}
	if !g.kernels {
		to.line("  return 0;")
	}
	to.line("}")
}

// hasWord reports whether code contains an identifier, apart from the pieces that placeholders stand for.
func hasWord(code, name string) bool {
	for at := 0; ; {
		i := strings.Index(code[at:], name)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(name)
		if (i == 0 || !isIdentifier("_"+code[i-1:i])) && (at == len(code) || !isIdentifier("_"+code[at:at+1])) {
			return true
		}
	}
}

// returns reports whether a body may return before its end.
func returns(body tir.Stmt) bool {
	return tir.Contains(body, func(node any) bool {
		c, ok := node.(*tir.Call)
		return ok && c.Kind == tir.CallIntrinsic && (c.Name == "ret" || c.Name == "ret_none")
	})
}

// comment makes text safe for a C comment.
func comment(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "*/", "* /"), "\n", " ")
}

// signature returns the function as callers see it: matmul(A: float32[n, k], n: int32).
func (fn *function) signature() string {
	list := make([]string, len(fn.params))
	for i, p := range fn.params {
		list[i] = fn.paramName(i) + ": " + fn.paramType(p)
	}
	return shownName(fn.PrimFunc) + "(" + strings.Join(list, ", ") + ")"
}

// paramName returns the name of a parameter in errors.
func (fn *function) paramName(i int) string {
	if b := fn.params[i].buffer; b != nil && b.Name != "" {
		return b.Name
	}
	return fn.params[i].v.Name
}

func (fn *function) paramType(p param) string {
	if p.buffer == nil {
		return p.v.Type.String()
	}
	dims := make([]string, len(p.buffer.Shape))
	for i, e := range p.buffer.Shape {
		dims[i] = plain(e)
	}
	return p.buffer.DType.String() + "[" + strings.Join(dims, ", ") + "]"
}

// plain formats an expression of sizes for messages.
func plain(e tir.Expr) string {
	switch e := e.(type) {
	case *tir.Var:
		return e.Name
	case *tir.IntImm:
		return fmt.Sprint(e.Value)
	case *tir.Cast:
		return plain(e.Value)
	case *tir.Binary:
		a, b := plainOperand(e.A), plainOperand(e.B)
		if s := e.Op.String(); !isIdentifier(s) {
			return a + " " + s + " " + b
		}
		return fmt.Sprintf("%s(%s, %s)", e.Op, plain(e.A), plain(e.B))
	case *tir.Call:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = plain(a)
		}
		return e.Name + "(" + strings.Join(args, ", ") + ")"
	}
	return "?"
}

func plainOperand(e tir.Expr) string {
	s := plain(e)
	if b, ok := e.(*tir.Binary); ok && !isIdentifier(b.Op.String()) {
		return "(" + s + ")"
	}
	return s
}

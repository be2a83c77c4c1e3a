package c

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/dlpack"
	"tvmgo/tir"
)

// entry writes the exported function: its checks and the call of the body.
type entry struct {
	*writer
	f         *function
	bound     map[*tir.Var]string // the source of each size: "argument 0 (A): shape[1]"
	later     []later
	fields    *text           // fields of the struct that the check of the arguments returns
	taken     map[string]bool // their names
	data      map[int]string  // the addresses of first elements, by parameter
	checkName string          // of the function that checks
	limits    []int64         // constant sizes, which entries that share a check differ in
}

// later is a check of a size that depends on other arguments.
type later struct {
	param int
	what  string
	got   string
	want  tir.Expr
}

// entry writes the exported function: it checks the arguments and calls the body.
func (g *generator) entry(f *function, to *text) {
	if g.classic && (reserved[f.Name] || declared[f.Name]) {
		g.fail("the name %q is reserved in C, and the classic convention exports functions under their own: give "+
			"it another", f.Name)
		return
	}
	if !g.classic && clashes(f.Name) {
		g.fail("libraries have something else under names that begin like %q: give it another", f.Name)
		return
	}
	if dispatches(f.PrimFunc) {
		g.dispatch(f, to)
		return
	}
	e := g.newEntry(f)
	e.arguments()
	e.scalars()
	for i, p := range f.params {
		if p.buffer != nil {
			e.layout(i, p.buffer)
		}
	}
	for _, l := range e.later {
		e.check(l)
	}
	e.givesData()
	e.compareMemory()
	check := e.shared()
	e.out = &text{depth: 1}
	e.parameters()
	e.line("if (%s) return -1;", check)
	e.call()
	to.line("")
	if g.classic {
		to.line("TVMGO_EXPORT int %s(TVMValue* args, int* type_codes, int num_args, TVMValue* out_value, int* out_code, "+
			"void* resource) {", f.Name)
	} else {
		head := "TVMGO_EXPORT int " + entryName(f.Name)
		if isVariant(f.PrimFunc) {
			head = "static int " + variantEntry(f.Name)
			g.protos.line("%s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", head)
		}
		to.line("%s(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {", head)
	}
	to.WriteString(e.out.String())
	to.line("}")
	if isVariant(f.PrimFunc) && !g.classic {
		to.line("TVMGO_EXPORT int %s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*)\n    __attribute__((alias(\"%s\")));",
			entryName(f.Name), variantEntry(f.Name))
	}
	if !g.classic {
		e.metadata(&g.about)
	}
	if g.classic { // the loader finds it by name, but compilers warn without a declaration
		g.protos.line("int %s(TVMValue*, int*, int, TVMValue*, int*, void*);", f.Name)
	} else {
		g.protos.line("int %s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", entryName(f.Name))
	}
}

func (g *generator) newEntry(f *function) *entry {
	g.snippet("export")
	return &entry{f: f, bound: map[*tir.Var]string{}, fields: &text{depth: 1}, taken: map[string]bool{},
		data: map[int]string{},
		writer: &writer{generator: g, facts: newFacts(), fn: f, names: *f.names.within(), vars: map[*tir.Var]string{},
			out: &text{depth: 1}}}
}

// arguments writes the checks of each argument by itself.
func (e *entry) arguments() {
	f := e.f
	checks := e.argumentChecks()
	e.snippet("parameter")
	checks.Count("p->function", "signature", len(f.params))
	places := map[int64]abi.Place{} // by device type: where its tensors must be; the first one may be on any device
	for i, p := range f.params {
		name := p.name
		switch t := p.v.Type; {
		case p.buffer != nil:
			// the variable is not named after the parameter: functions with other parameter names share the check
			e.vars[p.v] = e.temp(fmt.Sprintf("tensor_%d", i))
			name = e.vars[p.v]
			d := p.buffer.DType
			if !e.plain(i) || slices.ContainsFunc(f.extras, func(x param) bool { return x.handle && x.v == p.v }) {
				e.gives("const DLTensor*", name)
			}
			e.line("const DLTensor* %s = NULL;", name)
			if device, away := deviceOfParam(f.PrimFunc, i); away {
				at, isKnown := places[device]
				if at.Type = fmt.Sprint(device); !isKnown {
					places[device] = abi.Place{Type: at.Type, First: i, Other: name}
				}
				checks.DeviceTensor(i, d, len(p.buffer.Shape), at, name)
				switch {
				case e.f.parts[p.buffer.Data] != nil:
					e.offset(i, device)
				case p.buffer.Offset == nil && hasAddresses(device):
					checks.Aligned(i, name, e.alignment(p.buffer))
				case p.buffer.Offset != nil:
					checks.Starts(i, name, max(int(d.Bits)/8, 1))
				default:
					checks.Starts(i, name, 0)
				}
				break
			}
			checks.Tensor(i, d, len(p.buffer.Shape), e.alignment(p.buffer), name)
		case tir.IsHandle(t):
			e.gives("void*", name)
			e.line("void* %s = NULL;", name)
			checks.Pointer(i, name)
			e.vars[p.v] = name
		case tir.IsFloat(t):
			e.gives("double", name)
			e.line("double %s = 0;", name)
			checks.Float(i, name)
			e.vars[p.v] = name
		default:
			e.gives("int64_t", name)
			e.line("int64_t %s = 0;", name)
			checks.Int(i, t, name)
			e.vars[p.v] = name
		}
	}
}

// argumentChecks returns a writer of argument checks.
func (e *entry) argumentChecks() *abi.Checks {
	return &abi.Checks{Classic: e.classic, Need: e.snippet, Line: e.line}
}

// alignment returns the alignment of a tensor's address, in bytes.
func (e *entry) alignment(b *tir.Buffer) int {
	natural := max(int(b.DType.Bits)/8, 1)
	if b.Alignment < 0 || b.Alignment&(b.Alignment-1) != 0 || b.Alignment > 1<<20 {
		e.fail("buffer %s: alignment %d: want a power of two", b.Name, b.Alignment)
	}
	return max(natural, b.Alignment)
}

// scalars binds the sizes that are parameters.
func (e *entry) scalars() {
	for i, p := range e.f.params {
		if p.buffer == nil && tir.IsInt(p.v.Type) {
			e.bound[p.v] = e.who(i)
		}
	}
}

func (e *entry) who(i int) string { return abi.Argument(i, e.f.paramName(i)) }

// layout writes the checks of a tensor's shape, strides and offset.
func (e *entry) layout(i int, b *tir.Buffer) {
	t := e.vars[e.f.params[i].v]
	for d, want := range b.Shape {
		e.match(i, fmt.Sprintf("shape[%d]", d), fmt.Sprintf("%s->shape[%d]", t, d), want)
	}
	switch {
	case b.Strides == nil:
		e.argumentChecks().Contiguous(i, t)
	case len(b.Strides) != len(b.Shape):
		e.fail("buffer %s has %d dimensions and %d strides", b.Name, len(b.Shape), len(b.Strides))
	default:
		e.snippet("stride")
		for d, want := range b.Strides {
			e.match(i, fmt.Sprintf("strides[%d]", d), fmt.Sprintf("tvmgo_stride(%s, %d)", t, d), want)
		}
	}
	if b.Offset != nil {
		e.match(i, "the offset of the elements", elementOffset(t, b.DType), b.Offset)
	}
}

// match binds a size, or adds a check for later.
func (e *entry) match(i int, what, got string, want tir.Expr) {
	v, isVar := want.(*tir.Var)
	if !isVar || e.bound[v] != "" {
		e.later = append(e.later, later{i, what, got, want})
		return
	}
	if !tir.IsInt(v.Type) || v.Type.Lanes != 1 {
		e.fail("buffer %s: %s is of type %s: want an integer", e.f.paramName(i), v.Name, v.Type)
		return
	}
	e.bound[v] = e.who(i) + ": " + what
	name := e.f.vars[v]
	e.vars[v] = name
	e.line("const int64_t %s = %s;", name, got)
	e.gives("int64_t", name)
	if v.Type != tir.Int64 {
		e.argumentChecks().Fits(i, what, name, v.Type)
	}
}

// gives adds a value to the results of the check, under the name of its variable.
func (e *entry) gives(ctype, name string) {
	e.fields.line("%s %s;", ctype, name)
	e.taken[name] = true
}

// plain reports whether the body uses only the address of a parameter's first element.
func (e *entry) plain(i int) bool {
	b := e.f.params[i].buffer
	device, away := deviceOfParam(e.f.PrimFunc, i)
	return b != nil && b.Offset == nil && (!away || hasAddresses(device))
}

// givesData adds addresses to the results of the check, which computes them once for all functions that share it.
func (e *entry) givesData() {
	for i, p := range e.f.params {
		if e.plain(i) {
			e.snippet("data")
			e.data[i] = e.temp(fmt.Sprintf("data_%d", i))
			e.line("void* const %s = tvmgo_data(%s);", e.data[i], e.vars[p.v])
			e.gives("void*", e.data[i])
		}
	}
}

// shared moves the checks to a function, which other functions of the file with equal checks share, and returns its
// call. The values are returned in the variable taken of the entry.
func (e *entry) shared() string {
	for _, name := range slices.Sorted(maps.Keys(e.taken)) {
		e.line("taken->%s = %s;", name, name)
	}
	fields := e.fields.String()
	if fields == "" {
		fields = "  int nothing;\n"
		e.line("taken->nothing = 0;")
	}
	params := "const TVMFFIAny* args, int32_t num_args"
	if e.classic {
		params = "const TVMValue* args, const int* type_codes, int32_t num_args"
		e.line("(void)type_codes;")
	}
	e.line("(void)limits;")
	e.line("return 0;")
	text := fields + e.out.String()
	c := e.checks[text]
	if c == nil {
		c = &check{name: fmt.Sprintf("tvmgo_check_%d", len(e.checks)), fields: fields, params: params, body: e.out.String()}
		e.checks[text] = c
		e.checkList = append(e.checkList, c)
	}
	c.uses++
	for v, own := range e.vars {
		if e.taken[own] {
			e.vars[v] = "taken." + own
		}
	}
	e.checkName = c.name
	args := "args, num_args"
	if e.classic {
		args = "args, type_codes, num_args"
	}
	limits := "NULL"
	if len(e.limits) > 0 {
		limits = "limits"
	}
	return fmt.Sprintf("%s(p, %s, %s, %s, &taken) != 0", c.name, abi.Literal(e.f.signature()), limits, args)
}

// check is a C function that checks arguments. Functions whose checks differ only in names and constant sizes share it.
type check struct {
	name, fields, params, body string
	uses                       int
}

func (c *check) write(to *text) {
	inline := ""
	if c.uses > 1 { // otherwise compilers inline it in each function
		inline = noInline
	}
	to.line("")
	to.line("/* The values that %s takes from the arguments. */", c.name)
	to.line("typedef struct {")
	to.WriteString(c.fields)
	to.line("} %s_taken;", c.name)
	to.line("")
	to.line("static %sint32_t %s(const tvmgo_parameter* p, const char* signature, const int64_t* limits, %s,", inline,
		c.name, c.params)
	to.line("    %s_taken* taken) {", c.name)
	to.WriteString(c.body)
	to.line("}")
}

// noInline precedes shared functions.
const noInline = "__attribute__((noinline)) "

// parameters writes the tables that the entry passes to the check: the parameters and the constant sizes.
func (e *entry) parameters() {
	f := e.f
	e.line("static const tvmgo_parameter p[] = {")
	for i, p := range f.params {
		e.line("    %s", abi.Parameter(shownName(f.PrimFunc), i, f.paramName(i), f.paramType(p)))
	}
	if len(f.params) == 0 {
		e.line("    %s", abi.Parameter(shownName(f.PrimFunc), -1, "", ""))
	}
	e.line("};")
	if len(e.limits) > 0 {
		list := make([]string, len(e.limits))
		for i, n := range e.limits {
			list[i] = e.expr(&tir.IntImm{Type: tir.Int64, Value: n}).text
		}
		e.line("static const int64_t limits[] = {%s};", strings.Join(list, ", "))
	}
	if e.classic {
		e.line("(void)out_value, (void)out_code, (void)resource;")
	} else {
		e.line("(void)self, (void)result;")
	}
	e.line("%s_taken taken;", e.checkName)
}

// check writes the comparison of a size with an expression of bound sizes.
func (e *entry) check(l later) {
	var unknown *tir.Var
	sources := []string{}
	wide := &tir.Mutator{Expr: func(x tir.Expr) tir.Expr {
		if v, ok := x.(*tir.Var); ok {
			switch by := e.bound[v]; {
			case by == "":
				unknown = v
			case len(sources) == 0 || sources[len(sources)-1] != by:
				sources = append(sources, by)
			}
		}
		return x
	}}
	wide.MutateExpr(l.want)
	if unknown != nil {
		e.fail("buffer %s: %s is %s, and %s has no value: use it as the size of a dimension, or as a parameter",
			e.f.paramName(l.param), l.what, plain(l.want), unknown.Name)
		return
	}
	want := ""
	if n, ok := l.want.(*tir.IntImm); ok {
		want = fmt.Sprintf("limits[%d]", len(e.limits))
		e.limits = append(e.limits, n.Value)
	} else {
		want = e.expr(e.widened(l.want)).text
	}
	name, by, condition := "", "", ""
	if !isConstant(l.want) {
		name, by = plain(l.want), strings.Join(sources, ", ")
	}
	if dim, isStride := strings.CutPrefix(strings.TrimSuffix(l.what, "]"), "strides["); isStride {
		t := e.vars[e.f.params[l.param].v] // the stride of a dimension of one element does not matter
		condition = fmt.Sprintf("%s->shape[%s] != 1 && !tvmgo_is_empty(%s)", t, dim, t)
	}
	e.argumentChecks().Same(l.param, l.what, l.got, want, name, by, condition)
}

// widened converts the expression of a size to 64 bits, the type of all sizes in the entry.
func (e *entry) widened(x tir.Expr) tir.Expr {
	m := &tir.Mutator{}
	m.PreExpr = func(x tir.Expr) (tir.Expr, bool) {
		switch x := x.(type) {
		case *tir.IntImm:
			return &tir.IntImm{Type: tir.Int64, Value: x.Value}, true
		case *tir.Var:
			v := tir.NewVar(x.Name, tir.Int64)
			e.vars[v] = e.vars[x]
			return v, true
		case *tir.Cast:
			if tir.IsInt(x.Type) {
				return m.MutateExpr(x.Value), true
			}
		}
		return x, false
	}
	return m.MutateExpr(x)
}

// call writes the call of the body.
func (e *entry) call() {
	f := e.f
	args := e.selfArgument(f.PrimFunc)
	for i, p := range f.allParams() {
		away := false
		if i < len(f.params) {
			_, away = deviceOfParam(f.PrimFunc, i)
		}
		switch {
		case p.handle:
			args = append(args, e.vars[p.v])
		case p.buffer != nil && away && !e.plain(i):
			args = append(args, fmt.Sprintf("(%s)%s->data", strings.TrimSuffix(p.ctype, " restrict"), e.vars[p.v]))
		case p.buffer != nil && p.buffer.Offset != nil:
			e.snippet("base")
			args = append(args, fmt.Sprintf("(%s)tvmgo_base(%s, %d)", strings.TrimSuffix(p.ctype, " restrict"), e.vars[p.v],
				max(int(p.buffer.DType.Bits)/8, 1)))
		case p.buffer != nil:
			args = append(args, fmt.Sprintf("(%s)taken.%s", strings.TrimSuffix(p.ctype, " restrict"), e.data[i]))
		case tir.IsHandle(p.v.Type):
			args = append(args, e.vars[p.v])
		case tir.IsFloat(p.v.Type):
			args = append(args, e.cast(p.v.Type, tir.Float64, atom(e.vars[p.v])).text)
		default:
			args = append(args, e.cast(p.v.Type, tir.Int64, atom(e.vars[p.v])).text)
		}
	}
	if !f.hasResult() {
		e.line("return %s(%s);", f.body, strings.Join(args, ", "))
		return
	}
	value := e.temp("value")
	e.line("%s %s;", e.valueType(f.Result), value)
	e.line("const int rc = %s(%s);", f.body, strings.Join(append(args, "&"+value), ", "))
	e.line("if (rc != 0) return rc;")
	values := abi.ValuesOf(e.classic)
	result := values.Int
	if tir.IsFloat(f.Result) {
		result = values.Float
	} else if tir.IsBool(f.Result) {
		result = values.Bool
	}
	if e.classic {
		e.line("out_value->%s = %s;", result.Field, value)
		e.line("*out_code = %s;", result.Index)
	} else {
		e.line("result->type_index = %s;", result.Index)
		e.line("result->zero_padding = 0;")
		e.line("result->%s = %s;", result.Field, value)
	}
	e.line("return 0;")
}

// elementOffset returns the number of elements before a tensor's first one, in C.
func elementOffset(tensor string, t tir.Type) string {
	if t.Bits < 8 && (t.Bits > 1 || t.Code != dlpack.CodeUInt) { // several elements share a byte
		return fmt.Sprintf("(int64_t)(%s->byte_offset * 8 / %d)", tensor, t.Bits)
	}
	return fmt.Sprintf("(int64_t)(%s->byte_offset / %d)", tensor, max(int(t.Bits)/8, 1))
}

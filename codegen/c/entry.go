package c

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// entry is what a library exports of a function in the making.
type entry struct {
	*writer
	f     *function
	bound map[*tir.Var]string // where a size comes from: "argument 0 (A): shape[1]"
	later []later
	sizes []string // the lines that bind sizes
}

// later is a check that waits for sizes that other arguments bind.
type later struct {
	param int
	what  string
	got   string
	want  tir.Expr
}

// entry writes what a library exports of a function: it checks the arguments, and calls the body.
func (g *generator) entry(f *function, to *text) {
	if g.classic && (reserved[f.Name] || declared[f.Name]) {
		g.fail("the name %q means something else in C, and the classic convention exports functions under their own: give it another", f.Name)
		return
	}
	if !g.classic && clashes(f.Name) {
		g.fail("libraries have something else under names that begin like %q: give it another", f.Name)
		return
	}
	e := &entry{f: f, bound: map[*tir.Var]string{}, writer: &writer{generator: g, facts: newFacts(), fn: f, names: *f.names.clone(), vars: map[*tir.Var]string{},
		out: &text{depth: 1}}}
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
	e.compareMemory()
	checks := e.out.Len()
	e.call()
	e.mentionSizes(checks)
	to.line("")
	if g.classic {
		to.line("TVMGO_EXPORT int %s(TVMValue* args, int* type_codes, int num_args, TVMValue* out_value, int* out_code, void* resource) {", f.Name)
	} else {
		to.line("TVMGO_EXPORT int __tvm_ffi_%s(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {", f.Name)
	}
	to.WriteString(e.out.String())
	to.line("}")
	if !g.classic {
		e.metadata(&g.about)
	}
	if g.classic { // the loader looks a name up, the compiler wants it declared
		g.protos.line("int %s(TVMValue*, int*, int, TVMValue*, int*, void*);", f.Name)
	} else {
		g.protos.line("int __tvm_ffi_%s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", f.Name)
	}
}

// arguments takes the arguments, each by its own kind.
func (e *entry) arguments() {
	f := e.f
	if n := len(f.params); n > 0 {
		e.helper("parameter")
		e.line("static const tvmgo_parameter p[] = {")
		for i, p := range f.params {
			e.line("    {%s, %d, %s, %s},", literal(f.Name), i, literal(f.paramName(i)), literal(f.paramType(p)))
		}
		e.line("};")
	}
	if e.classic {
		e.line("(void)type_codes, (void)out_value, (void)out_code, (void)resource;")
	} else {
		e.line("(void)self, (void)result;")
	}
	e.helper("count")
	e.line("if (tvmgo_count(%s, %s, args, num_args, %d) != 0) return -1;", literal(f.Name), literal(f.signature()), len(f.params))
	firsts := map[int64]string{} // the first tensor on a type of device, on whose device the others must be
	for i, p := range f.params {
		arg := fmt.Sprintf("&p[%d], &args[%d]", i, i)
		if e.classic {
			arg += fmt.Sprintf(", type_codes[%d]", i)
		}
		name := p.name
		switch t := p.v.Type; {
		case p.buffer != nil:
			e.vars[p.v] = e.temp(p.buffer.Name + "_tensor")
			name = e.vars[p.v]
			d := p.buffer.DType
			e.line("const DLTensor* %s = NULL;", name)
			if device, away := deviceOfParam(f.PrimFunc, i); away {
				first := firsts[device]
				if first == "" {
					first, firsts[device] = "NULL", name
				}
				unit := 0
				if p.buffer.Offset != nil {
					unit = max(int(d.Bits)/8, 1)
				}
				e.helper("devicetensor")
				e.line("if (tvmgo_device_tensor(%s, (DLDataType){%d, %d, %d}, %d, %d, %d, %s, &%s) != 0) return -1;", arg, d.Code, d.Bits, d.Lanes,
					len(p.buffer.Shape), unit, device, first, name)
				break
			}
			e.helper("tensor")
			e.line("if (tvmgo_tensor(%s, (DLDataType){%d, %d, %d}, %d, %d, &%s) != 0) return -1;", arg, d.Code, d.Bits, d.Lanes,
				len(p.buffer.Shape), e.alignment(p.buffer), name)
		case tir.IsHandle(t):
			e.helper("pointer")
			e.line("void* %s = NULL;", name)
			e.line("if (tvmgo_pointer(%s, &%s) != 0) return -1;", arg, name)
			e.vars[p.v] = name
		case tir.IsFloat(t):
			e.helper("float")
			e.line("double %s = 0;", name)
			e.line("if (tvmgo_float(%s, &%s) != 0) return -1;", arg, name)
			e.vars[p.v] = name
		default:
			e.helper("int")
			least, most := intBounds(t)
			e.line("int64_t %s = 0;", name)
			e.line("if (tvmgo_int(%s, %s, %s, &%s) != 0) return -1;", arg, least, most, name)
			e.vars[p.v] = name
		}
	}
}

// alignment is what a tensor's address must be a multiple of.
func (e *entry) alignment(b *tir.Buffer) int {
	natural := max(int(b.DType.Bits)/8, 1)
	if b.Alignment < 0 || b.Alignment&(b.Alignment-1) != 0 || b.Alignment > 1<<20 {
		e.fail("buffer %s: %d is no alignment, want a power of two", b.Name, b.Alignment)
	}
	return max(natural, b.Alignment)
}

// intBounds are the least and the greatest number of a type, in C.
func intBounds(t tir.Type) (least, most string) {
	switch {
	case tir.IsBool(t):
		return "0", "1"
	case t.Code == dlpack.CodeInt:
		return fmt.Sprintf("INT%d_MIN", t.Bits), fmt.Sprintf("INT%d_MAX", t.Bits)
	case t.Bits == 64:
		return "0", "INT64_MAX" // more does not come through an argument
	}
	return "0", fmt.Sprint(uint64(math.MaxUint64) >> (64 - t.Bits))
}

// scalars binds the sizes that are arguments themselves.
func (e *entry) scalars() {
	for i, p := range e.f.params {
		if p.buffer == nil && tir.IsInt(p.v.Type) {
			e.bound[p.v] = e.who(i)
		}
	}
}

func (e *entry) who(i int) string { return fmt.Sprintf("argument %d (%s)", i, e.f.paramName(i)) }

// layout compares shape, strides and offset of a tensor with the buffer's.
func (e *entry) layout(i int, b *tir.Buffer) {
	t := e.vars[e.f.params[i].v]
	for d, want := range b.Shape {
		e.match(i, fmt.Sprintf("shape[%d]", d), fmt.Sprintf("%s->shape[%d]", t, d), want)
	}
	switch {
	case b.Strides == nil:
		e.helper("compact")
		e.line("if (tvmgo_compact(&p[%d], %s) != 0) return -1;", i, t)
	case len(b.Strides) != len(b.Shape):
		e.fail("buffer %s has %d dimensions and %d strides", b.Name, len(b.Shape), len(b.Strides))
	default:
		e.helper("shaped")
		e.helper("stride")
		for d, want := range b.Strides {
			e.match(i, fmt.Sprintf("strides[%d]", d), fmt.Sprintf("tvmgo_stride(%s, %d)", t, d), want)
		}
	}
	if b.Offset != nil {
		e.match(i, "the offset of the elements", elementOffset(t, b.DType), b.Offset)
	}
}

// match binds a size, or notes that it is to be compared.
func (e *entry) match(i int, what, got string, want tir.Expr) {
	v, isVar := want.(*tir.Var)
	if !isVar || e.bound[v] != "" {
		e.later = append(e.later, later{i, what, got, want})
		return
	}
	if !tir.IsInt(v.Type) || v.Type.Lanes != 1 {
		e.fail("buffer %s: %s is of type %s: want a whole number", e.f.paramName(i), v.Name, v.Type)
		return
	}
	e.bound[v] = e.who(i) + ": " + what
	name := e.f.vars[v]
	e.vars[v] = name
	e.line("const int64_t %s = %s;", name, got)
	e.sizes = append(e.sizes, name, fmt.Sprintf("const int64_t %s = %s;", name, got))
	if v.Type != tir.Int64 {
		e.helper("fits")
		least, most := intBounds(v.Type)
		e.line("if (tvmgo_fits(&p[%d], %s, %s, %s, %s, %s) != 0) return -1;", i, literal(what), name, least, most, literal(v.Type.String()))
	}
}

var inQuotes = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// mentionSizes says of sizes that nothing needs that this is meant. It does so before the call, which begins at a place in the text.
func (e *entry) mentionSizes(call int) {
	code := e.out.String()
	var unused text
	unused.depth = e.out.depth
	for i := 0; i < len(e.sizes); i += 2 {
		if !hasWord(inQuotes.ReplaceAllString(strings.Replace(code, e.sizes[i+1], "", 1), ""), e.sizes[i]) {
			unused.line("(void)%s;", e.sizes[i])
		}
	}
	if unused.Len() > 0 {
		e.out = &text{depth: e.out.depth}
		e.out.WriteString(code[:call] + unused.String() + code[call:])
	}
}

// check compares a size with what it must be, by what is bound.
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
		e.fail("buffer %s: %s is %s, and nothing says what %s is: let it be the size of some dimension, or a parameter",
			e.f.paramName(l.param), l.what, plain(l.want), unknown.Name)
		return
	}
	e.helper("extent")
	want := e.expr(e.widened(l.want)).text
	name, by := "NULL", "NULL"
	if !isConstant(l.want) {
		name, by = literal(plain(l.want)), literal(strings.Join(sources, ", "))
	}
	stride := strings.HasPrefix(l.what, "strides")
	call := fmt.Sprintf("tvmgo_same(&p[%d], %s, %s, %s, %s, %s) != 0", l.param, literal(l.what), l.got, want, name, by)
	if stride { // a dimension of one element is not walked along
		t := e.vars[e.f.params[l.param].v]
		dim := strings.TrimSuffix(strings.TrimPrefix(l.what, "strides["), "]")
		call = fmt.Sprintf("%s->shape[%s] != 1 && !tvmgo_is_empty(%s) && %s", t, dim, t, call)
	}
	e.line("if (%s) return -1;", call)
}

// widened is a size in 64 bits, as the entry has all of them.
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

// call calls the body.
func (e *entry) call() {
	f := e.f
	var args []string
	for i, p := range f.allParams() {
		away := false
		if i < len(f.params) {
			_, away = deviceOfParam(f.PrimFunc, i)
		}
		switch {
		case p.handle:
			args = append(args, e.vars[p.v])
		case p.buffer != nil && away:
			args = append(args, fmt.Sprintf("(%s)%s->data", strings.TrimSuffix(p.ctype, " restrict"), e.vars[p.v]))
		case p.buffer != nil && p.buffer.Offset != nil:
			e.helper("base")
			args = append(args, fmt.Sprintf("(%s)tvmgo_base(%s, %d)", strings.TrimSuffix(p.ctype, " restrict"), e.vars[p.v], max(int(p.buffer.DType.Bits)/8, 1)))
		case p.buffer != nil:
			e.helper("data")
			args = append(args, fmt.Sprintf("(%s)tvmgo_data(%s)", strings.TrimSuffix(p.ctype, " restrict"), e.vars[p.v]))
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
	index, field := "kTVMFFIInt", "v_int64"
	if e.classic {
		index = "kTVMArgInt"
	}
	if tir.IsFloat(f.Result) {
		index, field = "kTVMFFIFloat", "v_float64"
		if e.classic {
			index = "kTVMArgFloat"
		}
	}
	switch {
	case e.classic:
		e.line("out_value->%s = %s;", field, value)
		e.line("*out_code = %s;", index)
	default:
		if tir.IsBool(f.Result) {
			index = "kTVMFFIBool"
		}
		e.line("result->type_index = %s;", index)
		e.line("result->zero_padding = 0;")
		e.line("result->%s = %s;", field, value)
	}
	e.line("return 0;")
}

// elementOffset is how many elements lie before a tensor's first one.
func elementOffset(tensor string, t tir.Type) string {
	if t.Bits < 8 && (t.Bits > 1 || t.Code != dlpack.CodeUInt) { // of which several lie in a byte
		return fmt.Sprintf("(int64_t)(%s->byte_offset * 8 / %d)", tensor, t.Bits)
	}
	return fmt.Sprintf("(int64_t)(%s->byte_offset / %d)", tensor, max(int(t.Bits)/8, 1))
}

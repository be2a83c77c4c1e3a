package c

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
)

// packedCall is a call of a function that is looked up at its first call: in the library's imports, then among the
// global functions.
func (w *writer) packedCall(e *tir.Call) code {
	if w.kernels {
		w.fail("the packed call of %s on a device: call it on the host", e.Name)
		return atom("0")
	}
	found := w.lookUp(e.Name)
	args := make([]code, len(e.Args))
	for k, a := range e.Args {
		args[k] = w.expr(a)
	}
	parts := map[int]string{} // tensors of arguments that may be parts of their buffers
	for k, a := range e.Args {
		if v, ok := a.(*tir.Var); ok && w.fn.parts[v] != nil && w.fn.launches(e) {
			parts[k] = w.variable(w.fn.parts[v], "").text
			w.snippet("pass_buffer")
		}
	}
	list := w.packArguments(e, args, parts)
	got := w.temp("result_of_" + e.Name)
	call := fmt.Sprintf("tvmgo_call(&%s, %s, %s, %d, &%s)", found, abi.Literal(e.Name), list, len(args), got)
	result, kind := "&"+got, got+".type_index" // the argument of tvmgo_let_go, and the result's type
	switch {
	case w.classic:
		kind = w.temp("code_of_" + e.Name)
		result += ", " + kind
		w.line("TVMValue %s;", got)
		w.line("int %s;", kind)
		call = strings.TrimSuffix(call, ")") + ", &" + kind + ")"
	case w.isSibling(e.Name):
		w.line("TVMFFIAny %s;", got)
		w.snippet("call_linked")
		w.declareSibling(e.Name)
		call = strings.Replace(call, "tvmgo_call(", "tvmgo_call_linked("+entryName(e.Name)+", ", 1)
	default:
		w.line("TVMFFIAny %s;", got)
	}
	w.try(call)
	t, values := e.Type, abi.ValuesOf(w.classic)
	boolIndex := values.Bool.Index
	if w.classic {
		boolIndex = "kTVMArgBool" // functions of newer versions return it
	}
	notA := func(want string) string {
		return w.leaving(fmt.Sprintf("tvmgo_not_a(%s, %s, %q, %s)", w.self(), abi.Literal(e.Name), want, result))
	}
	switch {
	case t == tir.Void:
		w.snippet("let_go")
		w.line("tvmgo_let_go(%s);", result)
		return code{}
	case tir.IsInt(t) || tir.IsBool(t):
		w.snippet("not_a")
		w.line("if (%s != %s && %s != %s) %s", kind, values.Int.Index, kind, boolIndex, notA("int"))
		if tir.IsBool(t) {
			return code{got + ".v_int64 != 0", precEqual}
		}
		return code{"(" + w.valueType(t) + ")" + got + ".v_int64", precUnary}
	case tir.IsFloat(t):
		w.snippet("not_a")
		w.line("if (%s != %s) %s", kind, values.Float.Index, notA("float"))
		return w.cast(t, tir.Float64, atom(got+".v_float64"))
	}
	w.fail("the packed call of %s returns type %s: want a number", e.Name, t)
	return atom("0")
}

// packArguments writes the arguments of a packed call into an array, and returns it (by the classic convention with the
// array of their type codes). parts are tensors that may be parts of their buffers.
func (w *writer) packArguments(e *tir.Call, args []code, parts map[int]string) string {
	if len(args) == 0 && w.classic {
		return "NULL, NULL"
	} else if len(args) == 0 {
		return "NULL"
	}
	list := w.temp("args_of_" + e.Name)
	given, index := list, func(k int) string { return fmt.Sprintf("%s[%d].type_index", list, k) }
	if w.classic {
		codes := w.temp("codes_of_" + e.Name)
		given, index = list+", "+codes, func(k int) string { return fmt.Sprintf("%s[%d]", codes, k) }
		w.line("TVMValue %s[%d];", list, len(args))
		w.line("int %s[%d];", codes, len(args))
	} else {
		w.line("TVMFFIAny %s[%d] = {0};", list, len(args))
	}
	values := abi.ValuesOf(w.classic)
	for k, a := range e.Args {
		if parts[k] != "" {
			at := fmt.Sprintf("&%s[%d]", list, k)
			if w.classic {
				at += ", &" + index(k)
			}
			w.line("tvmgo_pass_buffer(%s, %s, %s);", at, args[k].text, parts[k])
			continue
		}
		v, cast := values.Int, ""
		switch t := a.DType(); {
		case isText(a):
			v = values.Text
		case w.isTensorArg(a):
			v, cast = values.Tensor, "(void*)(uintptr_t)"
		case tir.IsHandle(t):
			v = values.Pointer
		case tir.IsBool(t):
			v = values.Bool
		case tir.IsFloat(t):
			v = values.Float
		case t == tir.UInt64:
			cast = "(int64_t)"
		}
		w.line("%s = %s;", index(k), v.Index)
		w.line("%s[%d].%s = %s%s;", list, k, v.Field, cast, argText(args[k], cast))
	}
	return given
}

// lookUp returns the variable that caches the packed function of a name.
func (w *writer) lookUp(name string) string {
	w.snippet("call")
	found := w.found[name]
	if found == "" {
		found = w.generator.names.pick("found_" + name)
		w.found[name] = found
		w.statics.line("static tvmgo_import %s;", found)
	}
	return found
}

// AttrProgram is the attribute of a module with the names, separated by spaces, of all functions of the program that it
// is part of. A packed call of such a function, or of one of the module's own, calls the linked function directly, if
// there is one.
const AttrProgram = "program"

func (g *generator) isSibling(name string) bool {
	if g.module.Func(name) != nil {
		return true
	}
	all, _ := g.module.Attrs[AttrProgram].(string)
	return slices.Contains(strings.Fields(all), name)
}

// entryName returns the exported name of a function.
func entryName(name string) string { return abi.FunctionPrefix + name }

// declareSibling declares a function of another C file. It is weak, because it may be available at run time only.
func (g *generator) declareSibling(name string) {
	if g.module.Func(name) == nil && !g.siblings[name] {
		g.siblings[name] = true
		g.protos.line("__attribute__((weak)) int %s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", entryName(name))
	}
}

func argText(c code, cast string) string {
	if cast != "" {
		return c.in(precUnary)
	}
	return c.text
}

func isText(e tir.Expr) bool {
	_, ok := e.(*tir.StringImm)
	return ok
}

func (w *writer) isTensorArg(e tir.Expr) bool {
	v, ok := e.(*tir.Var)
	return ok && w.fn.isTensor(v)
}

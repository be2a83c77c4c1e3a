package c

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
)

// packedCall is a call of a function that is found when it is first called: in what the library imports, then among the globals.
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
	parts := map[int]string{} // the tensors of arguments that may be parts of their buffers
	for k, a := range e.Args {
		if v, ok := a.(*tir.Var); ok && w.fn.parts[v] != nil && w.fn.launches(e) {
			parts[k] = w.variable(w.fn.parts[v], "").text
			w.snippet("pass_buffer")
		}
	}
	if w.classic {
		return w.classicCall(e, found, args, parts)
	}
	list := "NULL"
	if len(args) > 0 {
		list = w.temp("args_of_" + e.Name)
		w.line("TVMFFIAny %s[%d] = {0};", list, len(args))
	}
	for k, a := range e.Args {
		if parts[k] != "" {
			w.line("tvmgo_pass_buffer(&%s[%d], %s, %s);", list, k, args[k].text, parts[k])
			continue
		}
		index, field, cast := "kTVMFFIInt", "v_int64", ""
		switch t := a.DType(); {
		case isText(a):
			index, field = "kTVMFFIRawStr", "v_c_str"
		case w.isTensorArg(a):
			index, field, cast = "kTVMFFIDLTensorPtr", "v_ptr", "(void*)(uintptr_t)"
		case tir.IsHandle(t):
			index, field = "kTVMFFIOpaquePtr", "v_ptr"
		case tir.IsBool(t):
			index = "kTVMFFIBool"
		case tir.IsFloat(t):
			index, field = "kTVMFFIFloat", "v_float64"
		case t == tir.UInt64:
			cast = "(int64_t)"
		}
		w.line("%s[%d].type_index = %s;", list, k, index)
		w.line("%s[%d].%s = %s%s;", list, k, field, cast, argText(args[k], cast))
	}
	got := w.temp("result_of_" + e.Name)
	w.line("TVMFFIAny %s;", got)
	if w.isSibling(e.Name) {
		w.snippet("call_linked")
		w.declareSibling(e.Name)
		w.try(fmt.Sprintf("tvmgo_call_linked(%s, &%s, %s, %s, %d, &%s)", entryName(e.Name), found, abi.Literal(e.Name), list, len(args), got))
	} else {
		w.try(fmt.Sprintf("tvmgo_call(&%s, %s, %s, %d, &%s)", found, abi.Literal(e.Name), list, len(args), got))
	}
	t := e.Type
	caller := fmt.Sprintf("%s, %s", w.self(), abi.Literal(e.Name))
	switch {
	case t == tir.Void:
		w.snippet("let_go")
		w.line("tvmgo_let_go(&%s);", got)
		return code{}
	case tir.IsInt(t) || tir.IsBool(t):
		w.snippet("not_a")
		w.line("if (%s.type_index != kTVMFFIInt && %s.type_index != kTVMFFIBool) %s", got, got,
			w.leaving(fmt.Sprintf("tvmgo_not_a(%s, \"int\", &%s)", caller, got)))
		if tir.IsBool(t) {
			return code{got + ".v_int64 != 0", precEqual}
		}
		return code{"(" + w.valueType(t) + ")" + got + ".v_int64", precUnary}
	case tir.IsFloat(t):
		w.snippet("not_a")
		w.line("if (%s.type_index != kTVMFFIFloat) %s", got, w.leaving(fmt.Sprintf("tvmgo_not_a(%s, \"float\", &%s)", caller, got)))
		return w.cast(t, tir.Float64, atom(got+".v_float64"))
	}
	w.fail("the packed call of %s gives a value of type %s: only numbers can be taken", e.Name, t)
	return atom("0")
}

// lookUp is the variable that keeps what a packed call of a name finds.
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

// AttrProgram is the attribute of a module that names, divided by spaces, the functions of the program that it is part of. Packed calls of
// them, and of the module's own, go straight to what was linked with the code, if it was.
const AttrProgram = "program"

func (g *generator) isSibling(name string) bool {
	if g.module.Func(name) != nil {
		return true
	}
	all, _ := g.module.Attrs[AttrProgram].(string)
	return slices.Contains(strings.Fields(all), name)
}

// entryName is what a library exports of a function.
func entryName(name string) string { return abi.FunctionPrefix + name }

// declareSibling declares a function that may stand elsewhere, or be found at run time only. Weak: then there is none here.
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

// classicCall is packedCall by the convention of TVM v0.20 and older.
func (w *writer) classicCall(e *tir.Call, found string, args []code, parts map[int]string) code {
	list, codes := "NULL", "NULL"
	if len(args) > 0 {
		list, codes = w.temp("args_of_"+e.Name), w.temp("codes_of_"+e.Name)
		w.line("TVMValue %s[%d];", list, len(args))
		w.line("int %s[%d];", codes, len(args))
	}
	for k, a := range e.Args {
		if parts[k] != "" {
			w.line("tvmgo_pass_buffer(&%s[%d], &%s[%d], %s, %s);", list, k, codes, k, args[k].text, parts[k])
			continue
		}
		index, field, cast := "kTVMArgInt", "v_int64", ""
		switch t := a.DType(); {
		case isText(a):
			index, field = "kTVMStr", "v_str"
		case w.isTensorArg(a):
			index, field, cast = "kTVMDLTensorHandle", "v_handle", "(void*)(uintptr_t)"
		case tir.IsHandle(t):
			index, field = "kTVMOpaqueHandle", "v_handle"
		case tir.IsFloat(t):
			index, field = "kTVMArgFloat", "v_float64"
		case t == tir.UInt64:
			cast = "(int64_t)"
		}
		w.line("%s[%d].%s = %s%s;", list, k, field, cast, argText(args[k], cast))
		w.line("%s[%d] = %s;", codes, k, index)
	}
	got, kind := w.temp("result_of_"+e.Name), w.temp("code_of_"+e.Name)
	w.line("TVMValue %s;", got)
	w.line("int %s;", kind)
	w.try(fmt.Sprintf("tvmgo_call(&%s, %s, %s, %s, %d, &%s, &%s)", found, abi.Literal(e.Name), list, codes, len(args), got, kind))
	t := e.Type
	caller := fmt.Sprintf("%s, %s", w.self(), abi.Literal(e.Name))
	switch {
	case t == tir.Void:
		w.snippet("let_go")
		w.line("tvmgo_let_go(&%s, %s);", got, kind)
		return code{}
	case tir.IsInt(t) || tir.IsBool(t):
		w.snippet("not_a")
		w.line("if (%s != kTVMArgInt && %s != kTVMArgBool) %s", kind, kind,
			w.leaving(fmt.Sprintf("tvmgo_not_a(%s, \"int\", &%s, %s)", caller, got, kind)))
		if tir.IsBool(t) {
			return code{got + ".v_int64 != 0", precEqual}
		}
		return code{"(" + w.valueType(t) + ")" + got + ".v_int64", precUnary}
	case tir.IsFloat(t):
		w.snippet("not_a")
		w.line("if (%s != kTVMArgFloat) %s", kind, w.leaving(fmt.Sprintf("tvmgo_not_a(%s, \"float\", &%s, %s)", caller, got, kind)))
		return w.cast(t, tir.Float64, atom(got+".v_float64"))
	}
	w.fail("the packed call of %s gives a value of type %s: only numbers can be taken", e.Name, t)
	return atom("0")
}

package pack

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/dlpack"
)

//go:embed snippets/types.h
var kernelPrelude string

// kernelSource returns a C file followed by a function for each signature. The function calls the kernel, so that the
// compiler compares the types.
func kernelSource(in *input, used []*function) string {
	w := &cWriter{}
	w.line("#line 1 %s", abi.Literal(filepath.Base(in.path)))
	w.Write(in.data)
	w.line("\n#line 1 \"signatures\"")
	w.WriteString(kernelPrelude)
	for _, f := range used {
		w.kernelCall(f.sig)
	}
	return w.String()
}

const kernelCall = "tvmgo_kernel_"

// maxNamed is the largest number of parameters for which errors name the wrong one: each parameter costs compile time.
const maxNamed = 24

func (w *cWriter) kernelCall(sig *Signature) {
	n := len(sig.Params)
	params, plain, bare, agreed, accepted, types := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n),
		make([]string, n)
	exotic := false // a parameter may be a pointer to a type that the user defined
	for i := range sig.Params {
		p := &sig.Params[i]
		plain[i] = fmt.Sprintf("tvmgo_%d", i)
		types[i] = p.cType()
		params[i] = types[i] + " " + plain[i]
		bare[i], agreed[i] = plain[i], plain[i]
		if p.Tensor {
			bare[i] = "(void*)" + plain[i]
			agreed[i] = fmt.Sprintf("__builtin_choose_expr(tvmgo_agrees, (void*)%s, %s)", plain[i], plain[i])
		}
		var open bool
		accepted[i], open = p.accepted()
		exotic = exotic || open
	}
	if n == 0 {
		params, accepted, types = []string{"void"}, []string{"void"}, []string{"void"}
	}
	list := func(parts []string) string { return strings.Join(parts, ", ") }
	symbol, kernel := kernelCall+sig.Name, sig.Symbol
	check := func(condition, message string) {
		w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
		w.line("_Static_assert(%s, %s);", condition, message)
	}
	w.line("__attribute__((visibility(\"hidden\"))) void %s(%s);", symbol, list(params))
	w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
	w.line("void %s(%s) {", symbol, list(params))
	w.line("#ifdef %s /* a macro has no type: the arguments alone are looked at */", kernel)
	w.line("#define tvmgo_agrees 0")
	w.line("#else")
	w.line("#pragma GCC diagnostic push")
	w.line("#pragma GCC diagnostic ignored \"-Wint-conversion\"")
	w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
	w.line("typedef __typeof__(%s(%s)) tvmgo_result;", kernel, list(bare))
	w.line("#pragma GCC diagnostic pop")
	w.line("#define tvmgo_takes(...) __builtin_types_compatible_p(__typeof__(%s), tvmgo_result(__VA_ARGS__))", kernel)
	w.line("#define tvmgo_agrees tvmgo_takes(%s)", list(accepted))
	returned := func(what string) string {
		return fmt.Sprintf("%s \"%s, which would be dropped: declare it void\"",
			abi.Literal(fmt.Sprintf("%s: the kernel %s returns ", sig.Name, kernel)), what)
	}
	w.line("#define tvmgo_is(T, text) _Static_assert(!__builtin_types_compatible_p(tvmgo_result, T), %s);",
		returned(`" text "`))
	w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
	w.line("TVMGO_TYPES(tvmgo_is)")
	w.line("#undef tvmgo_is")
	check("__builtin_types_compatible_p(tvmgo_result, void)", returned("a value"))
	for i := 0; i < n && n <= maxNamed; i++ {
		p := &sig.Params[i]
		what := abi.Literal(fmt.Sprintf("%s: argument %d%s is %s in the signature, and ", sig.Name, i, p.named(),
			p.TypeText()))
		at := append([]string(nil), accepted...)
		at[i] = "T"
		w.line("#define tvmgo_at(T) tvmgo_takes(%s)", list(at))
		w.line("#define tvmgo_is(T, text) _Static_assert(tvmgo_agrees || !tvmgo_at(T), %s text \" in the kernel %s: change "+
			"one of the two\");", what, kernel)
		w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
		w.line("TVMGO_TYPES(tvmgo_is)")
		for _, e := range []struct {
			of                      dlpack.DataType
			own, other, enumeration string
		}{{dlpack.Int32, "int32_t", "uint32_t", "tvmgo_unsigned"}, {dlpack.UInt32, "uint32_t", "int32_t", "tvmgo_signed"}} {
			if !p.Tensor && p.Type == e.of {
				check(fmt.Sprintf("tvmgo_at(%s) || !(tvmgo_at(%s) && tvmgo_at(enum %s))", e.own, e.other, e.enumeration),
					fmt.Sprintf("%s \"%s in the kernel %s: change one of the two\"", what, e.other, kernel))
			}
		}
		w.line("#undef tvmgo_is")
		w.line("#undef tvmgo_at")
	}
	if !exotic {
		check("tvmgo_agrees", abi.Literal(fmt.Sprintf("%s: the kernel %s does not take what the signature says: (%s)",
			sig.Name, kernel, list(types))))
		w.line("#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"")
		w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
		w.line("tvmgo_result (*const tvmgo_signature)(%s) = __builtin_choose_expr(tvmgo_agrees, (void*)0, &%s);", list(types),
			kernel)
		w.line("(void)tvmgo_signature;")
	}
	w.line("#endif")
	w.line("#pragma GCC diagnostic push")
	for _, kind := range []string{"incompatible-pointer-types", "int-conversion", "pointer-sign", "conversion",
		"float-conversion"} {
		w.line("#pragma GCC diagnostic error \"-W%s\"", kind)
	}
	w.line("#pragma GCC diagnostic ignored \"-Wsign-conversion\"") // of char, and of enumerations
	w.line("#line 1 %s", abi.Literal("signature of "+sig.Name))
	w.line("%s(%s);", kernel, list(agreed))
	w.line("#pragma GCC diagnostic pop")
	w.line("}")
	w.line("#undef tvmgo_takes")
	w.line("#undef tvmgo_agrees")
}

// accepted returns the type of snippets/types.h that stands for all types which a kernel may have for the parameter;
// open reports whether a pointer to a type that the user defined is accepted, too.
func (p *Param) accepted() (name string, open bool) {
	switch {
	case !p.Tensor:
		return "tvmgo_" + p.Type.String(), false
	case p.Any:
		return "tvmgo_p_any", true
	case p.Type == dlpack.Float16 || p.Type == dlpack.BFloat16:
		return "tvmgo_p_float16", true
	case cElements[p.Type] != "":
		return "tvmgo_p_" + p.Type.String(), false
	}
	return "tvmgo_p_any", true
}

// named returns the name of a parameter in parentheses, if it has one.
func (p *Param) named() string {
	if p.Name == "" {
		return ""
	}
	return " (" + p.Name + ")"
}

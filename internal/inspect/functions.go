package inspect

import (
	"debug/elf"
	"slices"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/internal/signature"
)

const (
	modernPrefix   = "__tvm_ffi_"
	metadataPrefix = "__tvm_ffi__metadata_"
	docPrefix      = "__tvm_ffi__doc_"
	classicEntry   = "__tvm_main__"
)

// hints are what the presence of a symbol says about the generation.
type hints uint

const (
	hintV21 hints = 1 << iota
	hintModern
	hintClassic     // also in files of v0.21, whose look-up slot kept its name
	hintClassicOnly // never in those
	hintFFISlot
)

var definedHints = map[string]hints{
	"__tvm_ffi_library_ctx":      hintV21,
	"__tvm_ffi_library_bin":      hintV21,
	"__tvm_ffi__library_ctx":     hintModern,
	"__tvm_module_ctx":           hintClassic | hintClassicOnly,
	"__tvm_dev_mblob":            hintClassic | hintClassicOnly,
	"__TVMFuncCall":              hintClassic | hintClassicOnly,
	"__TVMAPISetLastError":       hintClassic | hintClassicOnly,
	"__TVMBackendGetFuncFromEnv": hintClassic,
}

var importedHints = map[string]hints{
	"TVMFuncCall":              hintClassic | hintClassicOnly,
	"TVMAPISetLastError":       hintClassic | hintClassicOnly,
	"TVMBackendGetFuncFromEnv": hintClassic,
}

// generationOf applies the rules of the loader (internal/core/loader/elf_imports.c).
func generationOf(symbols []symbol) Generation {
	seen := hints(0)
	for i := range symbols {
		name := symbols[i].name
		if symbols[i].undefined() {
			seen |= importedHints[name]
			continue
		}
		m := definedHints[name]
		switch {
		case m == 0 && strings.HasPrefix(name, modernPrefix):
			m = hintModern
		case m == 0 && strings.HasPrefix(name, "__TVMFFI"):
			m = hintFFISlot
		}
		seen |= m
	}
	switch {
	case seen&hintV21 != 0:
		return V21
	case seen&hintModern != 0:
		return Modern
	case seen&hintFFISlot != 0 && seen&hintClassicOnly == 0: // slots of the new calls over plain names
		return V21
	case seen&hintClassic != 0:
		return Classic
	}
	return Plain
}

// addSignatures adds the signatures that the functions print in errors. Files that are too long to be searched have
// none.
func (r *Report) addSignatures(m *image) {
	const most = 256 << 20
	if r.Generation != Modern || len(r.Functions) == 0 || m.size > most {
		return
	}
	known := map[string]bool{}
	for _, f := range r.Functions {
		known[f.Name] = true
	}
	var constants [][]byte
	for _, p := range m.loads {
		if p.Flags&elf.PF_W != 0 || p.Flags&elf.PF_R == 0 || p.Filesz > uint64(m.size) {
			continue
		}
		data := make([]byte, p.Filesz)
		if n, _ := p.ReadAt(data, 0); n > 0 {
			constants = append(constants, data[:n])
		}
	}
	found := signature.Find(func(name string) bool { return known[name] }, constants...)
	for i := range r.Functions {
		r.Functions[i].Signature = found[r.Functions[i].Name]
	}
}

// addSymbols divides the symbols into functions, slots and imports.
func (r *Report) addSymbols(m *image, symbols []symbol) {
	r.Functions = []Function{}
	described := map[string]bool{}
	tables := &variantTables{of: map[string][]Variant{}, budget: 2*m.size + 1<<16}
	var slots, runtime, others []string
	for i := range symbols {
		s := &symbols[i]
		switch {
		case s.name == "":
		case s.undefined() && strings.HasPrefix(s.name, "TVM"):
			runtime = append(runtime, s.name)
		case s.undefined():
			if s.bind != elf.STB_WEAK { // a weak one may stay undefined
				others = append(others, s.name)
			}
		case !s.exported() || !m.mapped(s.value):
		case isSlot(s.name):
			slots = append(slots, s.name)
		case s.name == classicEntry:
			r.Entry = m.entry(s)
		case strings.HasPrefix(s.name, metadataPrefix), strings.HasPrefix(s.name, docPrefix):
			described[s.name] = true
		case strings.HasPrefix(s.name, abi.VariantsPrefix):
			r.addVariants(m, s, tables)
		default:
			r.addFunction(s)
		}
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		f.Metadata, f.Doc = described[metadataPrefix+f.Name], described[docPrefix+f.Name]
		f.Variants = tables.of[f.Name]
	}
	slices.SortFunc(r.Functions, func(a, b Function) int { return strings.Compare(a.Symbol, b.Symbol) })
	r.Functions = slices.CompactFunc(r.Functions, func(a, b Function) bool { return a.Symbol == b.Symbol })
	r.ContextSlots, r.RuntimeImports, r.OtherImports = sorted(slots), sorted(runtime), sorted(others)
	if r.Generation == Modern && slices.ContainsFunc(r.Functions, func(f Function) bool { return f.Name == "main" }) {
		r.Entry = "main"
	}
}

// addFunction adds a symbol if the runtime can call it.
func (r *Report) addFunction(s *symbol) {
	if !s.function() {
		return
	}
	f := Function{Name: s.name, Symbol: s.name, Convention: Packed}
	switch {
	case r.Generation == Modern:
		name, ok := strings.CutPrefix(s.name, modernPrefix)
		if !ok || name == "" || name[0] == '_' {
			return
		}
		f.Name, f.Convention = name, SafeCall
	case strings.HasPrefix(s.name, "__") || s.name == "_init" || s.name == "_fini":
		return
	case r.Generation == V21:
		f.Convention = SafeCallV21
	}
	r.Functions = append(r.Functions, f)
}

// isSlot reports whether the runtime fills in the variable when it loads the file: pointers to its own functions, and
// to the module.
func isSlot(name string) bool {
	return strings.HasPrefix(name, "__TVM") || name == "__tvm_module_ctx" || name == "__tvm_ffi__library_ctx" ||
		name == "__tvm_ffi_library_ctx"
}

// entry returns the name of the default function: a text in files of LLVM, a function in those of C code.
func (m *image) entry(s *symbol) string {
	if s.function() {
		return classicEntry
	}
	_, available := m.segmentAt(s.value)
	text, err := m.read(s.value, min(available, 4096), "entry")
	if err != nil {
		return ""
	}
	name, _, found := strings.Cut(string(text), "\x00")
	if !found {
		return ""
	}
	return name
}

// sorted returns the names in order, each once, never nil.
func sorted(names []string) []string {
	slices.Sort(names)
	return append([]string{}, slices.Compact(names)...)
}

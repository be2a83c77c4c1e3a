package export

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/runtime"
)

// contextSymbols are the names of the variables through which generated code finds its imports.
var contextSymbols = []string{"__tvm_ffi__library_ctx", "__tvm_module_ctx"}

// shareContext lets several linked modules define the context variable: it makes the definitions weak, so that they are
// merged.
func (b *buildJob) shareContext() error {
	objcopy, err := b.tool("objcopy")
	if err != nil {
		return err
	}
	for k := range b.sources {
		object := filepath.Join(b.dir, b.objects[k])
		defined, _, err := objectSymbols(object)
		if err != nil {
			return err
		}
		args := []string{objcopy}
		for _, s := range contextSymbols {
			if slices.Contains(defined, s) {
				args = append(args, "--weaken-symbol="+s)
			}
		}
		if len(args) == 1 {
			continue
		}
		if _, err := b.run("", append(args, object)...); err != nil {
			return err
		}
	}
	return nil
}

// register adds an object that registers all functions and the blob with the system library, after their symbols got
// the prefix.
func (b *buildJob) register() error {
	var modern, classic []registered
	var renames []string
	for k, i := range b.tree.linked() {
		defined, undefined, err := objectSymbols(filepath.Join(b.dir, b.objects[k]))
		if err != nil {
			return err
		}
		if slices.Contains(undefined, registerFunction(blob.Modern)) ||
			slices.Contains(undefined, registerFunction(blob.Legacy)) {
			continue // the generated code registers them itself
		}
		names := map[string]bool{}
		for _, f := range b.tree.nodes[i].module.Functions() {
			names[f] = true
		}
		for _, s := range defined {
			to, isModern, registers := systemName(s, b.config.prefix, names)
			if !registers {
				continue
			}
			if to != s {
				renames = append(renames, "--redefine-sym="+s+"="+to)
			}
			if isModern {
				modern = append(modern, registered{to, to})
			} else {
				classic = append(classic, registered{to, to})
			}
		}
	}
	if err := b.rename(renames); err != nil {
		return err
	}
	if b.blobSize > 0 {
		s := blobSymbol(b.config.layout, b.config.prefix)
		if b.config.layout == blob.Modern {
			modern = append(modern, registered{s, s})
		} else {
			classic = append(classic, registered{s, s})
		}
	}
	return b.compileRegistration(unique(modern), unique(classic))
}

// rename changes symbols in all linked objects, also where they are used.
func (b *buildJob) rename(renames []string) error {
	if len(renames) == 0 {
		return nil
	}
	slices.Sort(renames)
	renames = slices.Compact(renames)
	objcopy, err := b.tool("objcopy")
	if err != nil {
		return err
	}
	for k := range b.sources {
		if _, err := b.run("", append(append([]string{objcopy}, renames...),
			filepath.Join(b.dir, b.objects[k]))...); err != nil {
			return err
		}
	}
	return nil
}

// unique omits repeated names: a weak context variable is in several objects.
func unique(list []registered) []registered {
	seen := map[registered]bool{}
	return slices.DeleteFunc(list, func(r registered) bool {
		met := seen[r]
		seen[r] = true
		return met
	})
}

func (b *buildJob) compileRegistration(modern, classic []registered) error {
	if len(modern)+len(classic) == 0 {
		return nil
	}
	var text strings.Builder
	for _, r := range append(append([]registered(nil), modern...), classic...) {
		fmt.Fprintf(&text, "extern const char %s[];\n", r.symbol)
	}
	if len(modern) > 0 {
		text.WriteString(registration(registerFunction(blob.Modern), modern))
	}
	if len(classic) > 0 {
		text.WriteString(registration(registerFunction(blob.Legacy), classic))
	}
	source, object := b.config.prefix+"init.c", b.config.prefix+"init.o"
	if err := os.WriteFile(filepath.Join(b.dir, source), []byte(text.String()), 0o666); err != nil {
		return err
	}
	b.objects = append(b.objects, object)
	return b.compileSource(source, object)
}

// systemName returns the name of a linked module's symbol in a system library with a prefix; registers is false for
// symbols that nobody looks up. names are the functions that the module lists; they identify classic functions.
func systemName(symbol, prefix string, names map[string]bool) (to string, isModern, registers bool) {
	if rest, found := strings.CutPrefix(symbol, functionPrefix); found {
		for _, data := range []string{"_library_ctx", "_metadata_", "_doc_"} {
			if strings.HasPrefix(rest, data) {
				return prefix + symbol, true, true
			}
		}
		if strings.HasPrefix(rest, prefix) {
			return symbol, true, true
		}
		return functionPrefix + prefix + rest, true, true
	}
	if names[symbol] && !strings.HasPrefix(symbol, prefix) || symbol == "__tvm_module_ctx" || symbol == "__tvm_main__" {
		return prefix + symbol, false, true
	}
	return symbol, false, names[symbol]
}

// objectSymbols lists the defined and the undefined global symbols of an object, both sorted.
func objectSymbols(path string) (defined, undefined []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil, runtime.Errorf(runtime.ErrNotSupported, "%s is no ELF object, the only kind whose symbols can be "+
			"read here: %w", filepath.Base(path), err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, nil, fmt.Errorf("read the symbols of %s: %w", filepath.Base(path), err)
	}
	for _, s := range symbols {
		switch {
		case s.Name == "" || elf.ST_BIND(s.Info) == elf.STB_LOCAL:
		case s.Section == elf.SHN_UNDEF:
			undefined = append(undefined, s.Name)
		default:
			defined = append(defined, s.Name)
		}
	}
	slices.Sort(defined)
	slices.Sort(undefined)
	return defined, undefined, nil
}

// checkObject returns an error for an object that can't be linked later.
func checkObject(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return invalid("%s is no object: %w", path, err)
	}
	defer f.Close()
	if f.Type != elf.ET_REL {
		return invalid("%s is no object to link, but %v", path, f.Type)
	}
	return nil
}

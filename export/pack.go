package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tvmgo/blob"
	"tvmgo/internal/atomicfile"
	"tvmgo/internal/cc"
	"tvmgo/internal/globals"
	"tvmgo/internal/unfinished"
	"tvmgo/runtime"
)

// ImportsToBytes returns a module and its imports as the block of data that a library carries, in a layout. Linked
// modules appear in it as the library itself.
func ImportsToBytes(m *runtime.Module, layout blob.Layout) ([]byte, error) {
	data, err := packImports(m, layout, "")
	if err != nil {
		return nil, fmt.Errorf("pack imports: %w", err)
	}
	return data, nil
}

// ImportsToC returns C source code, also valid C++, that defines the block of ImportsToBytes in the modern layout under
// the name that loaders look up, with a prefix. With system set the block registers itself with the system library.
func ImportsToC(m *runtime.Module, system bool, prefix string) (string, error) {
	return packText(m, system, prefix, func(w *bytes.Buffer, symbol, register string, data []byte) error {
		return writeC(w, symbol, bytes.NewReader(data), int64(len(data)), register)
	})
}

// ImportsToLLVM is ImportsToC as LLVM IR. triple names the machine; "" selects the compiler's default.
func ImportsToLLVM(m *runtime.Module, system bool, triple, prefix string) (string, error) {
	if !triplePattern.MatchString(triple) {
		return "", invalid("pack imports: %q is no target triple such as aarch64-linux-gnu", triple)
	}
	return packText(m, system, prefix, func(w *bytes.Buffer, symbol, register string, data []byte) error {
		return writeLLVM(w, symbol, bytes.NewReader(data), int64(len(data)), register, triple)
	})
}

var triplePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]*$`)

func packText(m *runtime.Module, system bool, prefix string,
	write func(w *bytes.Buffer, symbol, register string, data []byte) error) (string, error) {
	data, err := packImports(m, blob.Modern, prefix)
	if err != nil {
		return "", fmt.Errorf("pack imports: %w", err)
	}
	register := ""
	if system {
		register = registerFunction(blob.Modern)
	}
	var w bytes.Buffer
	w.Grow(5 * len(data))
	err = write(&w, blobSymbol(blob.Modern, prefix), register, data)
	return w.String(), err
}

func packImports(m *runtime.Module, layout blob.Layout, prefix string) ([]byte, error) {
	c := config{layout: layout, prefix: prefix}
	if err := c.check(sharedSuffix); err != nil {
		return nil, err
	}
	t, err := collect(m)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.number(); err != nil {
		return nil, err
	}
	b, err := t.blob(layout)
	if err != nil {
		return nil, err
	}
	return b.Encode()
}

// Global functions with TVM's names do the same for C and Python; see internal/core/loader/builtins_export.c.
func init() {
	globals.Set("runtime.ModulePackImportsToC", func(args ...any) (any, error) {
		var m *runtime.Module
		var system bool
		var prefix string
		if err := arguments("runtime.ModulePackImportsToC(mod, is_system_lib, prefix)", args, 1, &m, &system,
			&prefix); err != nil {
			return nil, err
		}
		return ImportsToC(m, system, prefix)
	})
	globals.Set("runtime.ModulePackImportsToLLVM", func(args ...any) (any, error) {
		var m *runtime.Module
		var system bool
		var target, prefix string
		if err := arguments("runtime.ModulePackImportsToLLVM(mod, is_system_lib, target, prefix)", args, 1, &m, &system,
			&target, &prefix); err != nil {
			return nil, err
		}
		text, err := ImportsToLLVM(m, system, tripleOf(target), prefix)
		if err != nil {
			return nil, err
		}
		return runtime.NewModule("llvm", runtime.Exportable, &llvmModule{text: text})
	})
	for _, name := range []string{"runtime.ModulePackImportsToTensor", "runtime.ModulePackImportsToNDArray"} {
		globals.Set(name, func(args ...any) (any, error) {
			var m *runtime.Module
			if err := arguments(name+"(mod)", args, 1, &m); err != nil {
				return nil, err
			}
			data, err := ImportsToBytes(m, blob.Modern)
			if err != nil {
				return nil, err
			}
			return runtime.FromSlice(data)
		})
	}
	globals.Set("runtime.ModuleImportsBlobName", func(args ...any) (any, error) {
		if err := arguments("runtime.ModuleImportsBlobName()", args, 0); err != nil {
			return nil, err
		}
		return blob.ModernSymbol, nil
	})
}

// arguments stores the arguments of a packed function; at least least of them are required.
func arguments(function string, args []any, least int, to ...any) error {
	if len(args) < least || len(args) > len(to) {
		return invalid("%s: expected %d to %d arguments, got %d", function, least, len(to), len(args))
	}
	for i, a := range args {
		ok := false
		switch p := to[i].(type) {
		case **runtime.Module:
			*p, ok = a.(*runtime.Module)
		case *bool:
			switch v := a.(type) {
			case bool:
				*p, ok = v, true
			case int64:
				*p, ok = v != 0, true
			}
		case *string:
			*p, ok = a.(string)
		}
		if !ok {
			return invalid("%s: argument %d is of type %T", function, i, a)
		}
	}
	return nil
}

// tripleOf finds the triple in a target of TVM: a kind with options, or JSON.
func tripleOf(target string) string {
	var fields struct {
		Triple string `json:"mtriple"`
	}
	if json.Unmarshal([]byte(target), &fields) == nil {
		return fields.Triple
	}
	for word := range strings.FieldsSeq(target) {
		if v, found := strings.CutPrefix(strings.TrimLeft(word, "-"), "mtriple="); found {
			return v
		}
	}
	return ""
}

// llvmModule is a module of LLVM IR that can be linked. clang compiles it to an object.
type llvmModule struct {
	runtime.ModuleBase
	text string
}

func (m *llvmModule) Function(name string) (*runtime.Function, error) {
	return nil, runtime.Errorf(runtime.ErrNotFound, "a module of kind \"llvm\" made of imports has no function %q", name)
}

func (m *llvmModule) WriteFormats() []string { return []string{"ll", "o"} }

// GetSource returns the IR.
func (m *llvmModule) GetSource(format string) (string, error) {
	if format != "" && format != "ll" {
		return "", runtime.Errorf(runtime.ErrNotSupported, "the source is in the format \"ll\", not %q", format)
	}
	return m.text, nil
}

// SaveToFile writes the IR, or an object that clang compiles from it.
func (m *llvmModule) SaveToFile(path, format string) error {
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(path), ".")
	}
	switch format {
	case "ll":
		return atomicfile.Write(path, []byte(m.text), 0o666, atomicfile.FollowLinks)
	case "o", "obj":
		return m.compile(path)
	}
	return runtime.Errorf(runtime.ErrNotSupported, "%s: a module of kind \"llvm\" is written as .ll or .o, not %q", path,
		format)
}

func (m *llvmModule) compile(path string) error {
	clang, err := cc.Tool("clang")
	if err != nil {
		return runtime.Errorf(runtime.ErrNotFound, "%s: objects of LLVM IR are made by clang, which is not in PATH: install "+
			"it, or write .ll: %w", path, err)
	}
	out, err := reserve(path)
	if err != nil {
		return err
	}
	defer out.discard()
	dir, err := unfinished.MkdirTemp("tvmgo-export-")
	if err != nil {
		return fmt.Errorf("no folder for the source: %w: set TMPDIR to one that can be written", err)
	}
	defer unfinished.Remove(dir)
	if err := out.begin(dir); err != nil {
		return err
	}
	source := filepath.Join(dir, "source.ll")
	t := &toolchain{ctx: context.Background(), command: []string{clang}}
	args := []string{"-c", "-fPIC", "-Wno-override-module", source, "-o", out.temp}
	if err = os.WriteFile(source, []byte(m.text), 0o600); err == nil {
		if err = t.compiler("", args...); err != nil && t.compiler("", append(args, "-mllvm", "-opaque-pointers")...) == nil {
			err = nil // LLVM 14 and 15 need the option for ptr, later ones don't know it
		}
	}
	if err != nil {
		return err
	}
	return out.publish(0o666)
}

package llvm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"tvmgo/codegen"
	"tvmgo/codegen/c"
	"tvmgo/codegen/internal/jit"
	"tvmgo/export"
	"tvmgo/internal/atomicfile"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Kind is the kind of target, and of module.
const Kind = "llvm"

func init() {
	err := codegen.Register(Kind, Build)
	if err == nil {
		err = codegen.AsHost(Kind) // it compiles the same C
	}
	if err != nil {
		panic(fmt.Sprintf("llvm: %v", err)) // another package has taken the kind
	}
}

// Build is target.build.llvm. The error has kind ErrNotSupported if there is no clang, and kind ErrInvalidArgument if
// clang does not accept the target; it names the option.
func Build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	if t == nil || t.Kind() == nil || t.Kind().Name() != Kind {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "the target is %v: want one of kind %s", t, Kind)
	}
	code, units, err := c.EmitAll(m, t)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
	}
	clang, err := newCompiler(context.Background(), t)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(m.Funcs))
	for i, f := range m.Funcs {
		names[i] = f.Name
	}
	built := &module{compiler: clang, units: units}
	command := clang.clang.Command(clang.options.machine...)
	built.Host = jit.Host{Kind: Kind, Code: code, Names: names, Libraries: codegen.Libraries(m), CanRun: built.hostOnly,
		Answer: built.answer,
		Cache:  Kind, Key: built.key, Options: []export.Option{export.Compiler(command[0], command[1:]...)}}
	return built.New(built, runtime.Runnable|runtime.Exportable)
}

// module holds generated C, and the results of clang.
type module struct {
	jit.Host
	compiler *compiler
	units    []string // C files that are compiled instead of the code, and linked

	mu   sync.Mutex
	made map[form][]byte // compiled results
}

// key lists what a library depends on, except the code.
func (m *module) key() []string {
	return append(m.compiler.options.flags(), headersID(), m.compiler.clang.ID())
}

// objectCache has the objects of units.
const objectCache = diskcache.Cache("objects")

// as returns the program in a form. It is compiled once.
func (m *module) as(f form) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if data := m.made[f]; data != nil {
		return data, nil
	}
	data, err := m.compiler.compile(context.Background(), m.Code, f)
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = map[form][]byte{}
	}
	m.made[f] = data
	return data, nil
}

// objects compiles the units, as many at once as there are processors. Objects are cached on disk.
func (m *module) objects() (any, error) {
	objects, errs := make([]any, len(m.units)), make([]error, len(m.units))
	c.Together(len(m.units), func(i int) {
		key := diskcache.Key(append(m.compiler.options.flags(), "object 1", m.units[i], headersID(),
			m.compiler.clang.ID())...)
		data := objectCache.Read(key)
		if data == nil {
			if data, errs[i] = m.compiler.compile(context.Background(), m.units[i], "o"); errs[i] == nil {
				_ = objectCache.Write(key, data) // a failure only costs time at the next build
			}
		}
		objects[i] = data
	})
	return objects, errors.Join(errs...)
}

// GetSource returns the program as LLVM IR ("ll" or ""), as C ("c"), or as assembly of the machine ("s" or "asm").
func (m *module) GetSource(format string) (string, error) {
	f := form(format)
	switch format {
	case "c":
		return m.Code, nil
	case "", "ll":
		f = "ll"
	case "s", "asm":
		f = "s"
	default:
		return "", runtime.Errorf(runtime.ErrNotSupported, "get source of a module of kind %s: there is no format %q: want "+
			"ll, c, s or asm", Kind, format)
	}
	text, err := m.as(f)
	return string(text), err
}

// WriteFormats returns the formats of SaveToFile. An export writes the object.
func (m *module) WriteFormats() []string { return []string{"o", "obj", "ll", "bc", "s", "asm", "c"} }

func (m *module) SaveToFile(path, format string) error {
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(path), ".")
	}
	f := form(format)
	switch format {
	case "obj":
		f = "o"
	case "asm":
		f = "s"
	}
	data := []byte(m.Code)
	if f != "c" {
		if _, known := forms[f]; !known {
			return runtime.Errorf(runtime.ErrNotSupported, "save a module of kind %s as %s: there is no format %q: "+
				"want one of %s", Kind, path, format, strings.Join(m.WriteFormats(), ", "))
		}
		var err error
		if data, err = m.as(f); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(path, data, 0o666, atomicfile.FollowLinks); err != nil {
		return runtime.Errorf(runtime.ErrFailed, "save %s: %w", path, err)
	}
	return nil
}

// SaveToBinary fails: the functions of an object cannot be called before it is linked.
func (m *module) SaveToBinary() ([]byte, error) {
	return nil, runtime.Errorf(runtime.ErrNotSupported, "a module of kind %s is not saved as bytes: export it, which "+
		"links it", Kind)
}

// answer returns a function that describes the module, as Apache TVM's modules have them.
func (m *module) answer(name string) (*runtime.Function, error) {
	system, _ := target.Get[bool](m.compiler.target, "system-lib")
	var value any
	switch name {
	case "_get_target_string":
		value = m.compiler.target.JSON()
	case "__tvm_is_system_module":
		value = system
	case "__tvm_get_system_lib_prefix":
		if system {
			value = ""
		}
	case export.UnitsQuery:
		return runtime.NewFunction(func(...any) (any, error) { return m.objects() })
	default:
		return nil, nil
	}
	return runtime.NewFunction(func(...any) (any, error) { return value, nil })
}

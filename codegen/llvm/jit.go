package llvm

import (
	"context"
	"errors"
	"strings"

	"tvmgo/codegen/internal/jit"
	"tvmgo/export"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
)

// cache has the libraries of all processes.
const cache = diskcache.Cache(Kind)

// objectCache has the objects of units.
const objectCache = diskcache.Cache("objects")

// exported is a module for one export, which ends nothing of its original's.
type exported struct{ *module }

func (e *exported) Function(name string) (*runtime.Function, error)  { return e.answer(name) }
func (e *exported) ImportsChanged(func() ([]*runtime.Module, error)) {}
func (e *exported) Close() error                                     { return nil }

// link makes a library of this machine out of the module.
func (m *module) link() (*runtime.Module, error) {
	c, ctx := m.compiler, context.Background()
	key := diskcache.Key(append(c.options.flags(), "2", m.code, strings.Join(m.libraries, "\x00"), headersID(), c.clang.ID())...)
	l, err := jit.Load(ctx, cache, key, func(path string) error {
		// to the exporter it is a module as this one
		whole, err := runtime.NewModule(Kind, runtime.Exportable, &exported{module: m})
		if err != nil {
			return err
		}
		defer whole.Close()
		command := c.clang.Command(c.options.machine...)
		// what the check would find, the load finds, too
		return export.Library(ctx, whole, path, export.Compiler(command[0], command[1:]...), export.StaticCheck())
	})
	if errors.Is(err, runtime.ErrNotFound) { // of a tool or library: it is not the function that is missing
		err = runtime.Errorf(runtime.ErrNotSupported, "%w", err)
	}
	return l, err
}

package llvm

import (
	"context"
	"errors"
	"strings"

	"tvmgo/codegen/internal/atonce"
	"tvmgo/export"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
)

// cache has the libraries of all processes.
const cache = diskcache.Cache(Kind)

// link makes a library of this machine out of the module.
func (m *module) link() (*runtime.Module, error) {
	c, ctx := m.compiler, context.Background()
	key := diskcache.Key(append(c.options.flags(), "1", m.code, strings.Join(m.libraries, "\x00"), headersID(), c.clang.ID())...)
	l, err := atonce.Load(ctx, cache, key, func(path string) error {
		object, err := m.as("o")
		if err != nil {
			return err
		}
		whole, err := runtime.NewStaticLibrary(object, m.names)
		if err != nil {
			return err
		}
		defer whole.Close()
		command := c.clang.Command(c.options.machine...)
		// what the check would find, the load finds, too
		return export.Library(ctx, whole, path, export.Compiler(command[0], command[1:]...), export.Libraries(m.libraries...), export.StaticCheck())
	})
	if errors.Is(err, runtime.ErrNotFound) { // of a tool or library: it is not the function that is missing
		err = fail(runtime.ErrNotSupported, "%w", err)
	}
	return l, err
}

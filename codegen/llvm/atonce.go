package llvm

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tvmgo/export"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
)

// cache has the libraries of all processes.
const cache = diskcache.Cache(Kind)

// library is the module as a library of this machine, linked once.
func (m *module) library() (*runtime.Module, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded != nil {
		return m.loaded, nil
	}
	l, err := m.link(context.Background())
	if errors.Is(err, runtime.ErrNotFound) { // of a tool: it is not the function that is missing
		err = fail(runtime.ErrNotSupported, "%w", err)
	}
	m.loaded = l // after an error nil: the next call tries again
	return l, err
}

func (m *module) link(ctx context.Context) (*runtime.Module, error) {
	c := m.compiler
	key := diskcache.Key(append(c.options.flags(), "1", m.code, headersID(), c.clang.ID())...)
	if data := cache.Read(key); data != nil {
		if l, err := runtime.LoadBytes(ctx, data); err == nil {
			return l, nil
		} // else it was made by what is no longer there, or is broken: make it anew
	}
	object, err := m.asLocked("o")
	if err != nil {
		return nil, err
	}
	whole, err := runtime.NewStaticLibrary(object, m.names)
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	dir, err := os.MkdirTemp("", "tvmgo-llvm-")
	if err != nil {
		return nil, fail(runtime.ErrFailed, "no folder for the library: %w: set TMPDIR to one that can be written", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "atonce.so")
	command := c.clang.Command(c.options.machine...)
	// what the check would find, the load finds, too
	if err := export.Library(ctx, whole, path, export.Compiler(command[0], command[1:]...), export.StaticCheck()); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l, err := runtime.LoadBytes(ctx, data)
	if err != nil {
		return nil, err
	}
	_ = cache.Write(key, data) // which is only faster the next time
	return l, nil
}

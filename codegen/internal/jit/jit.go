// Package jit makes modules of generated code callable before they are exported: when a function is first looked
// up, it builds a library of the module, caches it on disk, and gives it the module's imports.
package jit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tvmgo/internal/diskcache"
	"tvmgo/internal/unfinished"
	"tvmgo/runtime"
)

// Library is the library behind a module. It is safe for concurrent use.
type Library struct {
	// Make builds the library.
	Make func() (*runtime.Module, error)

	mu      sync.Mutex
	imports []*runtime.Module // owned
	loaded  *runtime.Module
}

// Module returns the library, which is built once. After an error the next call tries again. The Library keeps
// ownership.
func (l *Library) Module() (*runtime.Module, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded != nil {
		return l.loaded, nil
	}
	m, err := l.Make()
	if err != nil {
		return nil, err
	}
	for _, dep := range l.imports {
		if err := m.Import(dep); err != nil {
			m.Close()
			return nil, err
		}
	}
	l.loaded = m
	return m, nil
}

// ImportsChanged updates the imports of the library to those of the module: see runtime.ImportsWatcher.
func (l *Library) ImportsChanged(list func() ([]*runtime.Module, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := list()
	if err != nil {
		return // no memory: the old imports stay
	}
	before := l.imports
	l.imports = now
	defer closeAll(before)
	if l.loaded == nil {
		return
	}
	added := now
	if n := len(before); n <= len(now) && sameModules(before, now[:n]) {
		added = now[n:]
	} else if l.loaded.ClearImports() != nil {
		return
	}
	for _, dep := range added {
		_ = l.loaded.Import(dep) // no cycle: no module imports the library
	}
}

func sameModules(a, b []*runtime.Module) bool {
	return slices.EqualFunc(a, b, func(x, y *runtime.Module) bool { return x.ID() == y.ID() })
}

func closeAll(all []*runtime.Module) (err error) {
	for _, m := range all {
		err = errors.Join(err, m.Close())
	}
	return err
}

// Metadata returns the library's metadata of a function.
func (l *Library) Metadata(function string) (string, error) {
	return l.describe(function, func(m *runtime.Module, function string) (string, error) {
		meta, err := m.Metadata(function)
		if err != nil {
			return "", err
		}
		return meta.Text, nil
	})
}

// Doc returns the documentation of a function.
func (l *Library) Doc(function string) (string, error) {
	return l.describe(function, (*runtime.Module).Doc)
}

func (l *Library) describe(function string, ask func(*runtime.Module, string) (string, error)) (string, error) {
	m, err := l.Module()
	if err != nil {
		return "", err
	}
	text, err := ask(m, function)
	if errors.Is(err, runtime.ErrNotFound) {
		return "", nil
	}
	return text, err
}

// Close closes the library and its imports.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := closeAll(l.imports)
	l.imports = nil
	if l.loaded != nil {
		err = errors.Join(err, l.loaded.Close())
		l.loaded = nil
	}
	return err
}

// Load loads the cached library of a key. If there is none, build writes it to a path, and it is cached.
func Load(ctx context.Context, cache diskcache.Cache, key string, build func(path string) error) (*runtime.Module,
	error) {
	if data := cache.Read(key); data != nil {
		if m, err := runtime.LoadBytes(ctx, data); err == nil {
			return m, nil
		} // otherwise it is for another machine, or damaged: rebuild it
	}
	dir, err := unfinished.MkdirTemp("tvmgo-codegen-")
	if err != nil {
		return nil, &runtime.Error{Kind: runtime.ErrFailed, Code: runtime.CodeOf(runtime.ErrFailed), Err: err,
			Message: "no folder for the library: " + err.Error() + ": set TMPDIR to one that can be written"}
	}
	defer unfinished.Remove(dir)
	path := filepath.Join(dir, "library.so")
	if err := build(path); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := runtime.LoadBytes(ctx, data)
	if err != nil {
		return nil, err
	}
	_ = cache.Write(key, data) // a failure only costs time at the next build
	return m, nil
}

// Texts returns a function that returns a list of strings, as exporters query modules for.
func Texts(list []string) (*runtime.Function, error) {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return runtime.NewFunction(func(...any) (any, error) { return all, nil })
}

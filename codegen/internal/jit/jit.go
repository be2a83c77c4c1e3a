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

// Library is the library behind a module. Its methods may be called by many at once.
type Library struct {
	// Make makes it.
	Make func() (*runtime.Module, error)

	mu      sync.Mutex
	imports []*runtime.Module // owned
	loaded  *runtime.Module
}

// Module is the library, made once. After an error the next call tries again. It stays the Library's.
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

// ImportsChanged lets the library import what the module does: see runtime.ImportsWatcher.
func (l *Library) ImportsChanged(list func() ([]*runtime.Module, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := list()
	if err != nil {
		return // no memory: what was there stays
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
		_ = l.loaded.Import(dep) // no circle: the library is imported by nobody
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

// Metadata is what the library says of a function.
func (l *Library) Metadata(function string) (string, error) {
	return l.describe(function, func(m *runtime.Module, function string) (string, error) {
		meta, err := m.Metadata(function)
		if err != nil {
			return "", err
		}
		return meta.Text, nil
	})
}

// Doc is the documentation of a function.
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

// Load loads what a cache keeps under a key, or else what build writes to a path, which is kept then.
func Load(ctx context.Context, cache diskcache.Cache, key string, build func(path string) error) (*runtime.Module,
	error) {
	if data := cache.Read(key); data != nil {
		if m, err := runtime.LoadBytes(ctx, data); err == nil {
			return m, nil
		} // else it is for another machine, or broken: make it anew
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
	_ = cache.Write(key, data) // which is only faster the next time
	return m, nil
}

// Texts is a function that gives a list of texts, as exporters ask modules for.
func Texts(list []string) (*runtime.Function, error) {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return runtime.NewFunction(func(...any) (any, error) { return all, nil })
}

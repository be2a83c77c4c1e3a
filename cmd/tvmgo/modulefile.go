//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/inspect"
	"tvmgo/runtime"
)

// checkModuleFile checks the path of a module before it is loaded. The error does not name the path.
func checkModuleFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(path, "/") && filepath.Ext(path) != "":
		return nil // it may be in LD_LIBRARY_PATH
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file: check the path")
	case err != nil:
		return atomicfile.Cause(err)
	case info.IsDir():
		return errors.New("it is a directory: give the module in it")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file: copy it to one")
	}
	return nil
}

// loadModule loads a module from a path. A file without a suffix, or with a version after .so, is loaded as a shared
// library. If it is none, the error says what it is.
func loadModule(ctx context.Context, path string) (*runtime.Module, error) {
	if filepath.Ext(path) != "" && !strings.Contains(filepath.Base(path), ".so.") {
		return runtime.Load(ctx, path)
	}
	if _, err := inspect.File(path); err != nil {
		return nil, fmt.Errorf("load %w", err)
	}
	load, err := runtime.Global("ffi.ModuleLoadFromFile")
	if err != nil {
		return nil, err
	}
	defer load.Close()
	v, err := load.Call(path, "so")
	if err != nil {
		return nil, err
	}
	m, ok := v.(*runtime.Module)
	if !ok {
		return nil, fmt.Errorf("load %s: %T is no module", path, v)
	}
	return m, nil
}

package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"
*/
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unsafe"

	"tvmgo/internal/fault"
)

// LoadOption is an option of Load, LoadBytes and LoadFS.
type LoadOption func(*loadConfig)

type loadConfig struct {
	flags     C.uint
	name      string
	trust     Verifier // nil: files are checked only if the environment or an outer load wants it
	signature []byte   // of the bytes of LoadBytes
}

// PrivateCopy loads a private copy of the file instead of the file itself. Use it if the process will later load the
// same path with another TVM runtime. If that runtime has mapped the file already, Load notices it without this option.
// SetPrivateCopies does this for every load.
func PrivateCopy() LoadOption {
	return func(c *loadConfig) { c.flags |= C.TVMGO_IMAGE_PRIVATE }
}

// Name is the name of a module loaded from bytes in error messages; "module" without it.
func Name(name string) LoadOption {
	return func(c *loadConfig) { c.name = name }
}

// SetPrivateCopies makes every later load, from Go and from C, a private copy (see PrivateCopy); the
// environment variable TVMGO_PRIVATE_LOAD=1 does the same.
func SetPrivateCopies(on bool) { C.tvmgo_image_set_private_default(cBool(on)) }

func configure(opts []LoadOption) loadConfig {
	c := loadConfig{name: "module"}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// hasNUL returns an error for a text that C would truncate.
func hasNUL(op, what, text string) error {
	if strings.IndexByte(text, 0) < 0 {
		return nil
	}
	return fault.New(op, ErrInvalidArgument, "%s %q has a zero byte inside", what, text)
}

// Load loads a module file: a shared library that Apache TVM of either generation or this module exported, or a file of
// another format with a registered loader, which the suffix selects. Loading a shared library runs its code, so load
// only files that you trust. The caller closes the module.
//
// Objects (.o) for this machine, and archives of objects and sources (.tar, also compressed), are linked into a
// temporary library by the system's compiler. The environment variables CC, CXX and NVCC name another compiler.
// NewStaticLibrary takes an object as data instead.
//
// The error is ErrNotFound for a file, a loader of a module kind or a compiler that does not exist, ErrCorruptModule
// for a file that is damaged or of another format than its suffix says, and ErrInvalidArgument for a path without a
// suffix. errors.Is also finds fs.ErrNotExist and fs.ErrPermission if the file cannot be opened. If ctx ends first,
// Load returns the error of ctx, and the module is closed as soon as it is loaded; a running compiler is stopped.
func Load(ctx context.Context, path string, opts ...LoadOption) (*Module, error) {
	c := configure(opts)
	if err := hasNUL("load module", "the path", path); err != nil {
		return nil, err
	}
	c.inherit()
	if isLinked(path) {
		return linkFile(ctx, path, c)
	}
	return load(ctx, func() C.tvmgo_ret {
		cpath := C.CString(path)
		defer C.free(unsafe.Pointer(cpath))
		verifier, release := c.handle()
		defer release()
		return C.tvmgo_bridge_load(cpath, nil, 0, c.flags, verifier)
	})
}

// LoadBytes loads a shared library from memory, for example from go:embed, or an object or an archive of objects, which
// it links as Load does. It does not use data after it returns. The error for bytes of any other format is
// ErrCorruptModule.
func LoadBytes(ctx context.Context, data []byte, opts ...LoadOption) (*Module, error) {
	c := configure(opts)
	if err := c.check(data); err != nil {
		return nil, err
	}
	if err := c.verifyBytes(data); err != nil {
		return nil, err
	}
	return c.loadBytes(ctx, data)
}

// check rejects what cannot be loaded from memory.
func (c *loadConfig) check(data []byte) error {
	if len(data) == 0 {
		return fault.New("load "+c.name, ErrCorruptModule, "there are no bytes")
	}
	return hasNUL("load module", "the name", c.name)
}

// loadBytes loads bytes that were checked.
func (c *loadConfig) loadBytes(ctx context.Context, data []byte) (*Module, error) {
	c.inherit()
	if m, linked, err := linkBytes(ctx, data, *c); linked || err != nil {
		return m, err
	}
	if ctx.Done() != nil {
		data = bytes.Clone(data) // the load may outlast this call
	}
	return c.loadLibrary(ctx, data)
}

func (c *loadConfig) loadLibrary(ctx context.Context, data []byte) (*Module, error) {
	return load(ctx, func() C.tvmgo_ret {
		cname := C.CString(c.name)
		defer C.free(unsafe.Pointer(cname))
		verifier, release := c.handle()
		defer release()
		return C.tvmgo_bridge_load(cname, cBytes(data), C.size_t(len(data)), c.flags, verifier)
	})
}

// LoadFS reads a file of fsys and loads it as LoadBytes does. The error for a file that does not exist is ErrNotFound;
// errors.Is finds the error of fsys as well.
func LoadFS(ctx context.Context, fsys fs.FS, name string, opts ...LoadOption) (*Module, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		kind := ErrFailed
		if errors.Is(err, fs.ErrNotExist) {
			kind = ErrNotFound
		}
		return nil, fault.Wrap("load "+name, kind, err)
	}
	c := configure(append([]LoadOption{Name(name)}, opts...))
	if err := c.check(data); err != nil {
		return nil, err
	}
	if err := c.verifyFS(fsys, name, data); err != nil {
		return nil, err
	}
	return c.loadBytes(ctx, data)
}

// SystemLib returns the module of the functions that are linked into the program and registered themselves under a
// prefix, which may be empty. A prefix without functions is not an error: the module is empty.
func SystemLib(prefix string) (*Module, error) {
	ptr, n := cText(prefix)
	o, err := result("system library", C.tvmgo_bridge_system_lib(ptr, n))
	if err != nil {
		return nil, err
	}
	return newModule(o), nil
}

func load(ctx context.Context, start func() C.tvmgo_ret) (*Module, error) {
	return await(ctx, "load module", func() (*Module, error) {
		o, err := result("", start())
		if err != nil {
			return nil, err
		}
		return newModule(o), nil
	})
}

// await calls start, which makes something. If ctx ends first, await returns its error, and what start makes is closed.
func await[T interface{ Close() error }](ctx context.Context, op string, start func() (T, error)) (none T, _ error) {
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%s: %w", op, err)
	}
	if ctx.Done() == nil {
		return start()
	}
	type outcome struct {
		made T
		err  error
	}
	ready := make(chan outcome)
	go func() {
		if ctx.Err() != nil {
			return // the caller has stopped waiting: no code of the file runs
		}
		made, err := start()
		select {
		case ready <- outcome{made, err}:
		case <-ctx.Done():
			made.Close()
		}
	}()
	select {
	case o := <-ready:
		return o.made, o.err
	case <-ctx.Done():
		return none, fmt.Errorf("%s: %w", op, ctx.Err())
	}
}

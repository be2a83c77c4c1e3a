package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/internal/datamodule"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/objects"
)

// Objects and archives of them become libraries when they are loaded: the system's compiler links them.

// isLinked reports whether a file of this name is linked here when it is loaded, rather than passed to another loader.
func isLinked(name string) bool {
	format := strings.TrimPrefix(filepath.Ext(name), ".")
	return slices.Contains(modulekind.StaticLibrary.Suffixes(), format) &&
		isBuiltin("ffi.Module.load_from_file."+format)
}

// loadLinkedFile is the loader of such files.
func loadLinkedFile(_, path, _ string) (*Module, error) {
	return linkFile(context.Background(), path, loadConfig{})
}

// linkFile links a file. An object for another machine is loaded as a static library, which can be exported.
func linkFile(ctx context.Context, path string, c loadConfig) (*Module, error) {
	info, err := os.Stat(path) // opening a pipe would block
	if err == nil && !info.Mode().IsRegular() {
		return nil, fault.New("load "+path, ErrInvalidArgument, "it is no ordinary file")
	}
	if err != nil {
		return nil, datamodule.FileError("load "+path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, datamodule.FileError("load "+path, err)
	}
	if f, err = c.opened(path, f); err != nil {
		return nil, err
	}
	defer f.Close()
	if native, err := isNative(f); err != nil {
		return nil, datamodule.FileError("load "+path, err)
	} else if !native && filepath.Ext(path) != ".tar" {
		return loadObject(path, f)
	}
	c.name = path
	return link(ctx, f, info.Size(), c)
}

// isNative reports whether it is an object for this machine.
func isNative(r io.ReaderAt) (bool, error) {
	head := make([]byte, 64)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	_, native := objects.IsObject(head[:n])
	return native, nil
}

// linkBytes returns false for bytes that are neither an object for this machine nor an archive.
func linkBytes(ctx context.Context, data []byte, c loadConfig) (*Module, bool, error) {
	native, err := isNative(bytes.NewReader(data))
	if err != nil || !native && !objects.IsArchive(data) {
		return nil, false, err
	}
	m, err := link(ctx, bytes.NewReader(data), int64(len(data)), c)
	return m, true, err
}

func link(ctx context.Context, r io.ReaderAt, size int64, c loadConfig) (*Module, error) {
	library, err := objects.Link(ctx, r, size)
	if cause := ctx.Err(); err != nil && cause != nil {
		return nil, fmt.Errorf("load module: %w", cause)
	}
	if err != nil {
		kind := ErrFailed
		var missing *objects.NoCompilerError
		if errors.As(err, &missing) {
			kind = ErrNotFound
		}
		return nil, fault.Wrap("load "+c.name, kind, err)
	}
	return c.loadLibrary(ctx, library)
}

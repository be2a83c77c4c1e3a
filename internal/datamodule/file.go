package datamodule

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/fault"
)

// fileFormat returns the format in which a file is written: the given one, or else the path's suffix.
func fileFormat(path, format string) string {
	if format != "" {
		return format
	}
	return strings.TrimPrefix(filepath.Ext(path), ".")
}

// wrongFormat is the error of SaveToFile for a format that the kind does not write.
func wrongFormat(op, kind, path, format string, formats []string) error {
	how := fmt.Sprintf("format %q", format)
	if format == "" {
		how = "no suffix and no format given"
	}
	return fault.New(op, fault.NotSupported, "%s: %s: a module of kind %q is written as .%s", path, how, kind,
		strings.Join(formats, ", ."))
}

// outFile is a file to write.
type outFile struct {
	path string
	data []byte
}

// writeFiles writes all files, or none. A file that is not regular, such as a pipe, is written directly.
func writeFiles(op string, files ...outFile) (err error) {
	var written []*atomicfile.File
	defer func() {
		for _, w := range written {
			w.Discard()
		}
		var own *fault.Error
		if err != nil && !errors.As(err, &own) {
			err = FileError(op, err)
		}
	}()
	for _, f := range files {
		path := f.path
		if path == "" {
			return fault.New(op, fault.InvalidArgument, "the path is empty")
		}
		path, err := atomicfile.Follow(path)
		if err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
		mode := fs.FileMode(0o666)
		if info, err := os.Stat(path); err == nil {
			if !info.Mode().IsRegular() {
				if err := writeOver(path, f.data); err != nil {
					return err
				}
				continue
			}
			mode = info.Mode().Perm()
		}
		w, err := atomicfile.Create(path, mode, atomicfile.ReplaceLinks) // path is no link
		if err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		written = append(written, w)
		_, err = w.Write(f.data)
		if err = errors.Join(err, w.Finish()); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: atomicfile.Cause(err)}
		}
	}
	for _, w := range written {
		if err := w.Commit(); err != nil {
			return &fs.PathError{Op: "write", Path: w.Path(), Err: err}
		}
	}
	return nil
}

func writeOver(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// FileError describes what the system refused, with a remedy.
func FileError(op string, err error) error {
	kind, way := fault.Failed, ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind, way = fault.NotFound, ": is the folder there?"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		way = ": give a folder that this program may write to"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		way = ": free some space or give another folder"
	}
	return &fault.Error{Op: op, Kind: kind, Code: fault.CodeOf(kind), Message: err.Error() + way, Err: err}
}

// Opened is set by package runtime. It gets a file that Open has opened, and returns the file to read: the same one, or
// a copy whose signature was checked. After an error, the file is closed.
var Opened = func(path string, f *os.File) (*os.File, error) { return f, nil }

// Open opens a file for a loader. Every loader of this module uses it, so that no file escapes the check of signatures.
func Open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, FileError("load "+path, err)
	}
	return Opened(path, f)
}

// ReadFile reads a file for a loader.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, FileError("load "+path, err)
	}
	return data, nil
}

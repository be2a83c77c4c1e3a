package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/memory"
)

// File is an open file with a model.
type File struct {
	Model    *Model
	Size     int64     // of the file in bytes, without external data
	External *External // the files beside it; never nil

	data []byte
	root *os.Root
}

// Open maps the file at a path and reads the model.
//
// The error matches [fs.ErrNotExist] if there is no such file, and is a [FormatError] if the content is invalid.
func Open(path string) (*File, error) {
	dir, base := filepath.Split(filepath.Clean(path))
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, openError(path, err)
	}
	f, err := openFS(os.DirFS(filepath.Clean(dir)), root.FS(), base, path)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	f.root = root
	return f, nil
}

// OpenFS is Open for a file of a file system, which must remain open until Close. Files of the operating system are
// mapped, others are read.
func OpenFS(fsys fs.FS, name string) (*File, error) {
	below, err := fs.Sub(fsys, path.Dir(name))
	if err != nil {
		return nil, openError(name, err)
	}
	return openFS(fsys, below, name, name)
}

// openFS opens a file whose external data are in another file system, which begins at its folder.
func openFS(fsys, below fs.FS, name, shown string) (*File, error) {
	data, _, err := memory.File(fsys, name, true)
	if err != nil {
		return nil, openError(shown, err)
	}
	m, err := Parse(data)
	if err != nil {
		memory.Free(data)
		return nil, fmt.Errorf("open model %s: %w", shown, err)
	}
	return &File{Model: m, Size: int64(len(data)), External: NewExternal(below), data: data}, nil
}

func openError(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err // the path is shown once
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open model %s: %w: check the path", name, err)
	}
	return fmt.Errorf("open model %s: %w", name, err)
}

// Close releases the file and its external data. Views must not be used afterwards. Closing twice is fine, but not from
// two goroutines at once.
func (f *File) Close() error {
	memory.Free(f.data)
	f.data = nil
	err := f.External.Close()
	if f.root != nil {
		err = errors.Join(err, f.root.Close())
		f.root = nil
	}
	return err
}

// External is the files beside a model in which tensors have their elements. It maps a file when a tensor first needs
// it. It is safe for concurrent use.
type External struct {
	fsys fs.FS

	mu     sync.Mutex
	closed bool
	files  map[string][]byte
}

// NewExternal returns the files of a file system whose top folder is that of the model. Close releases them.
func NewExternal(fsys fs.FS) *External { return &External{fsys: fsys, files: map[string][]byte{}} }

// Close releases the files. Views must not be used afterwards.
func (e *External) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, data := range e.files {
		memory.Free(data)
	}
	e.files, e.closed = nil, true
	return nil
}

// file returns the content of a file.
func (e *External) file(location string) ([]byte, error) {
	name := path.Clean(location)
	if !fs.ValidPath(name) || name == "." || slices.Contains(strings.Split(location, "/"), "..") {
		return nil, corruptf("", "the file %s is not below the folder of the model: move it there, and write its path "+
			"without ..", quoted(location))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("the model is closed: read its tensors before Close")
	}
	if data, ok := e.files[name]; ok {
		return data, nil
	}
	data, _, err := memory.File(e.fsys, name, true)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("open %s beside the model: %w: copy the model with all its files, none of them as a link "+
			"to another folder", quoted(location), err)
	}
	e.files[name] = data
	return data, nil
}

// externalBytes returns the elements of a tensor that has them in another file.
func (t *Tensor) externalBytes(external *External, size int64) ([]byte, error) {
	x := t.External
	if external == nil {
		return nil, fmt.Errorf("onnx: %s: the elements are in the file %s: open the model by its path, so that files "+
			"beside it are found", t.place(), quoted(x.Location))
	}
	if x.Length >= 0 && x.Length != size {
		return nil, t.wrongSize(x.Length, size, "bytes of "+quoted(x.Location))
	}
	data, err := external.file(x.Location)
	if err != nil {
		if _, ok := err.(*FormatError); ok {
			return nil, within(t.place(), err)
		}
		return nil, fmt.Errorf("onnx: %s: %w", t.place(), err)
	}
	if n := int64(len(data)); x.Offset < 0 || x.Offset > n || size > n-x.Offset {
		return nil, corruptf(t.place(), "%d bytes at offset %d exceed the %d bytes of %s: it was cut, or it belongs to "+
			"another model", size, x.Offset, n, quoted(x.Location))
	}
	end := x.Offset + size
	return data[x.Offset:end:end], nil
}

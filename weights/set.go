package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	Params      Format = "params"       // TVM's parameter dictionary
	TensorFile  Format = "tensor"       // one tensor, saved by TVM
	TensorCache Format = "tensor-cache" // TVM's tensor cache: a folder with tensor-cache.json (or ndarray-cache.json)
	Safetensors Format = "safetensors"  // a file, or an index and its shards
	NPZ         Format = "npz"
	NPY         Format = "npy"
)

// Array is a tensor in memory: what [Write] writes. Data holds the elements, little-endian and in row-major order, of
// [dlpack.DataSize] bytes.
type Array struct {
	Name  string
	DType dlpack.DataType
	Shape []int64
	Data  []byte
}

// Tensor is a tensor of a Set. The fields must not be changed.
type Tensor struct {
	Name  string
	DType dlpack.DataType
	Shape []int64
	// Size is the number of bytes of the elements in memory.
	Size int64
	// Encoding says how the elements are stored: "" if the file has them as memory does, or else "f32-to-bf16",
	// "deflate", "big-endian" or "column-major".
	Encoding string

	set    *Set
	file   *file
	stored []byte                         // in the file
	decode func(out, stored []byte) error // nil: stored are the elements
	ready  []byte                         // a converted or aligned copy, which replaces stored; nil if there is none
}

// Set is the tensors of a file, or of several files that belong together. Its methods, and those of its tensors, are
// safe for concurrent use.
type Set struct {
	format   Format
	tensors  []*Tensor
	byName   map[string]*Tensor
	metadata map[string]string

	mu     sync.Mutex
	closed bool // by Close
	users  int  // the holds, and one until Close
	holds  int
	files  []*file
	copies arena
}

// Open opens the file, or the folder of a tensor cache or of shards, at a path.
//
// The error matches [fs.ErrNotExist] if there is no such file, and [ErrCorrupt] if the content is invalid.
func Open(path string) (*Set, error) {
	dir, base := filepath.Split(filepath.Clean(path))
	if info, err := os.Stat(path); err == nil && info.IsDir() || base == "" || base == ".." {
		dir, base = path, "."
	}
	if dir == "" {
		dir = "."
	}
	return open(os.DirFS(dir), base, path)
}

// OpenFS is Open for a file of a file system. Files of the operating system are mapped, others are read.
func OpenFS(fsys fs.FS, name string) (*Set, error) { return open(fsys, name, name) }

func open(fsys fs.FS, name, shown string) (*Set, error) {
	s := &Set{users: 1}
	if err := s.load(fsys, name); err != nil {
		s.release()
		if cause, ok := err.(*fs.PathError); ok {
			err = cause.Err // the path is shown once
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open weights %s: %w: check the path", shown, err)
		}
		return nil, fmt.Errorf("open weights %s: %w", shown, err)
	}
	return s, nil
}

// Parse reads a file in memory, of any format that consists of one file. The tensors are views of data, which must not
// be changed before Close.
func Parse(data []byte) (*Set, error) {
	s := &Set{users: 1}
	if err := s.parse(s.add(&file{data: data}), ""); err != nil {
		s.release()
		return nil, fmt.Errorf("read weights: %w", err)
	}
	return s, nil
}

// Format returns the format.
func (s *Set) Format() Format { return s.format }

// Tensors lists the tensors in the order of the file. The list must not be changed.
func (s *Set) Tensors() []*Tensor { return s.tensors }

// Lookup returns the tensor with a name. The error names the most similar one.
func (s *Set) Lookup(name string) (*Tensor, error) {
	if t := s.byName[name]; t != nil {
		return t, nil
	}
	names := make([]string, len(s.tensors))
	for i, t := range s.tensors {
		names[i] = t.Name
	}
	hint := ""
	if n := nearest.Name(name, names); n != "" {
		hint = fmt.Sprintf(": did you mean %q?", n)
	}
	return nil, fmt.Errorf("there is no tensor %q among %d%s", name, len(names), hint)
}

// Metadata returns what the file says beside the tensors: the __metadata__ of safetensors, or the metadata of an index
// or a tensor cache, where values that are not text are in JSON. It must not be changed; nil if there is none.
func (s *Set) Metadata() map[string]string { return s.metadata }

// Size returns the number of bytes of all tensors in memory.
func (s *Set) Size() int64 {
	sum := int64(0)
	for _, t := range s.tensors {
		sum += t.Size
	}
	return sum
}

// Hold keeps the memory of all tensors until release is called, even if the Set is closed before. release may be called
// several times, and from any goroutine.
func (s *Set) Hold() (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return nil, errClosed
	}
	s.users++
	s.holds++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.holds--
		s.mu.Unlock()
		s.release()
	}), nil
}

// Close releases the memory of the tensors, unless there is a Hold on it. Views must not be used afterwards. Closing
// twice is fine.
func (s *Set) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.release()
	}
	return nil
}

func (s *Set) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	for _, f := range s.files {
		f.close()
	}
	s.files = nil
	s.copies.free()
}

var errClosed = errors.New("use weights: the set is closed: call Hold before Close")

// ErrCorrupt matches errors about the content of a file.
var ErrCorrupt = errors.New("corrupt weights")

type corrupt struct{ text string }

func (c *corrupt) Error() string        { return c.text }
func (c *corrupt) Is(target error) bool { return target == ErrCorrupt }

func corruptf(format string, args ...any) error { return &corrupt{fmt.Sprintf(format, args...)} }

package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/sorting"
)

// The first words of TVM's files.
const (
	paramsMagic = 0xF7E58D4F05049CB7
	tensorMagic = 0xDD5E40F096B4A13F
)

// The names that a folder is searched for, in this order.
var folderFiles = []string{"tensor-cache.json", "ndarray-cache.json", "model.safetensors.index.json",
	"model.safetensors"}

// others are the beginnings of files that are often mistaken for weights.
var others = []struct{ begin, what string }{
	{"GGUF", "a GGUF file: convert it to safetensors"},
	{"\x89HDF", "an HDF5 file: convert it to safetensors"},
	{"\x80\x02", "a pickle of Python: save the tensors as safetensors"},
	{"\x80\x04", "a pickle of Python: save the tensors as safetensors"},
	{"\x7fELF", "a library: give the file of its parameters"},
	{"\x1f\x8b", "gzip data: unpack it first"},
	{"\x28\xb5\x2f\xfd", "zstd data: unpack it first"},
}

// Recognizes reports whether the file or folder at a path seems to be of one of the formats, by its first bytes.
func Recognizes(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return slices.ContainsFunc(folderFiles, func(n string) bool {
			_, err := os.Stat(filepath.Join(path, n))
			return err == nil
		})
	}
	if !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, min(info.Size(), 512))
	n, _ := io.ReadFull(f, begin)
	begin = begin[:n]
	switch {
	case n < 8:
		return false
	case begin[0] == 'P' && begin[1] == 'K':
		return filepath.Ext(path) == ".npz" || bytes.Contains(begin, []byte(".npy"))
	case isJSON(begin):
		return bytes.Contains(begin, []byte(`"weight_map"`)) || slices.Contains(folderFiles, filepath.Base(path))
	case n > 8 && begin[8] == '{':
		return binary.LittleEndian.Uint64(begin) <= maxHeader
	}
	word := binary.LittleEndian.Uint64(begin)
	return word == paramsMagic || word == tensorMagic || bytes.HasPrefix(begin, []byte(npyfile.Magic))
}

// load reads a file or a folder.
func (s *Set) load(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return s.loadFile(fsys, name)
	}
	for _, n := range folderFiles {
		n = path.Join(name, n)
		if _, err := fs.Stat(fsys, n); err == nil {
			return s.loadFile(fsys, n)
		}
	}
	return errors.New("the folder has none of " + strings.Join(folderFiles, ", ") + ": give the file")
}

func (s *Set) loadFile(fsys fs.FS, name string) error {
	f, err := s.openFile(fsys, name)
	if err != nil {
		return err
	}
	if !isJSON(f.data) {
		stem := path.Base(name)
		return s.parse(f, strings.TrimSuffix(stem, path.Ext(stem)))
	}
	if len(f.data) > maxIndex {
		return corruptf("a JSON file of %d bytes: an index has at most %d", len(f.data), maxIndex)
	}
	return s.loadIndex(fsys, path.Dir(name), string(f.data))
}

func isJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data[:min(len(data), 64)], " \t\r\n"), []byte("{"))
}

// parse reads a file of a format that consists of one file. stem names the tensor of a file that has only one.
func (s *Set) parse(f *file, stem string) error {
	word := uint64(0)
	if len(f.data) >= 8 {
		word = binary.LittleEndian.Uint64(f.data)
	}
	begins := func(text string) bool { return bytes.HasPrefix(f.data, []byte(text)) }
	switch {
	case len(f.data) == 0:
		return corruptf("the file is empty: save it again")
	case word == paramsMagic:
		return s.readParams(f)
	case word == tensorMagic:
		return s.readTensor(f, stem)
	case begins(npyfile.Magic):
		return s.readNPY(f, stem)
	case begins("PK\x03\x04"), begins("PK\x05\x06"):
		return s.readNPZ(f)
	case len(f.data) > 8 && f.data[8] == '{':
		return s.readSafetensors(f)
	case isJSON(f.data):
		return errors.New("an index of other files: open it by its path")
	}
	for _, o := range others {
		if begins(o.begin) {
			return corruptf("%s", o.what)
		}
	}
	return corruptf("the content is of no known format: want TVM's parameters, safetensors, .npz or .npy")
}

// loadIndex reads an index of safetensors or of a tensor cache, and the files that it names.
func (s *Set) loadIndex(fsys fs.FS, dir, text string) error {
	root, err := jsonpos.Parse(text, maxDepth)
	if err != nil {
		return corruptf("the index: %v", err)
	}
	object, _ := root.(map[string]any)
	s.metadata = metadataOf(object["metadata"])
	switch {
	case object["weight_map"] != nil:
		return s.loadShards(fsys, dir, text)
	case object["records"] != nil:
		return s.loadCache(fsys, dir, object["records"])
	}
	return corruptf("the JSON file has neither weight_map, as an index of safetensors, nor records, as a tensor cache")
}

// metadataOf returns the members of an object; values that are not text are in JSON.
func metadataOf(v any) map[string]string {
	object, _ := v.(map[string]any)
	if len(object) == 0 {
		return nil
	}
	m := make(map[string]string, len(object))
	for key, v := range object {
		text, ok := v.(string)
		if !ok {
			b, _ := json.Marshal(v) // what was parsed from JSON can be written
			text = string(b)
		}
		m[key] = text
	}
	return m
}

// shardPath returns the path of a file that an index names: it must be in the folder of the index.
func shardPath(dir, name string) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", corruptf("the index names the file %q, which is not in its folder", name)
	}
	return path.Join(dir, name), nil
}

// append adds a tensor whose name must be new.
func (s *Set) append(t *Tensor) error {
	if s.byName == nil {
		s.byName = map[string]*Tensor{}
	}
	if s.byName[t.Name] != nil {
		return corruptf("the name %q is given to two tensors", t.Name)
	}
	t.set = s
	s.byName[t.Name] = t
	s.tensors = append(s.tensors, t)
	return nil
}

// sized sets the size of a tensor from its type and shape. The error names the tensor.
func sized(t *Tensor) error {
	if err := setSize(t); err != nil {
		return corruptf("tensor %q: %v", t.Name, err)
	}
	return nil
}

// setSize is sized with an error that does not name the tensor.
func setSize(t *Tensor) error {
	n, err := dlpack.DataSize(t.Shape, t.DType)
	if err != nil {
		return err
	}
	if t.DType.Lanes != 1 || t.DType.Code == dlpack.CodeHandle {
		return fmt.Errorf("elements of type %v cannot be saved", t.DType)
	}
	t.Size = n
	return nil
}

// span is a part of a file that a tensor or a member occupies.
type span struct {
	name       string
	begin, end int64
}

// overlapping returns an error if two spans have a byte in common. It sorts them.
func overlapping(spans []span) error {
	sorting.By(spans, func(a, b span) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return cmp.Compare(a.end, b.end)
	})
	last := span{}
	for _, s := range spans {
		if s.begin == s.end {
			continue
		}
		if s.begin < last.end {
			return corruptf("%q and %q share bytes %d to %d of the file", last.name, s.name, s.begin, min(s.end, last.end)-1)
		}
		last = s
	}
	return nil
}

package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"unicode/utf8"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
	"tvmgo/internal/sorting"
)

const (
	maxHeader = 100_000_000 // bytes of a JSON header, as in the reference implementation of safetensors
	maxIndex  = 32 << 20    // bytes of a JSON index
	maxDepth  = 64          // of JSON
)

type safetensorsType struct {
	name  string
	dtype dlpack.DataType
}

// safetensorsTypes are the names of types in headers.
var safetensorsTypes = []safetensorsType{
	{"BOOL", dlpack.Bool}, {"BOOL", dlpack.ClassicBool},
	{"U8", dlpack.UInt8}, {"I8", dlpack.Int8}, {"U16", dlpack.UInt16}, {"I16", dlpack.Int16},
	{"U32", dlpack.UInt32}, {"I32", dlpack.Int32}, {"U64", dlpack.UInt64}, {"I64", dlpack.Int64},
	{"F16", dlpack.Float16}, {"BF16", dlpack.BFloat16}, {"F32", dlpack.Float32}, {"F64", dlpack.Float64},
	{"C64", dlpack.DataType{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}},
	{"F8_E4M3", dlpack.Float8E4M3FN}, {"F8_E5M2", dlpack.Float8E5M2},
	{"F8_E8M0", dlpack.DataType{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}},
	{"F8_E4M3FNUZ", dlpack.DataType{Code: dlpack.CodeFloat8E4M3FNUZ, Bits: 8, Lanes: 1}},
	{"F8_E5M2FNUZ", dlpack.DataType{Code: dlpack.CodeFloat8E5M2FNUZ, Bits: 8, Lanes: 1}},
	{"F6_E2M3", dlpack.DataType{Code: dlpack.CodeFloat6E2M3FN, Bits: 6, Lanes: 1}},
	{"F6_E3M2", dlpack.DataType{Code: dlpack.CodeFloat6E3M2FN, Bits: 6, Lanes: 1}},
	{"F4", dlpack.Float4E2M1FN},
}

// readSafetensors reads a file: the length of a JSON object, the object, and the elements without gaps.
func (s *Set) readSafetensors(f *file) error {
	s.format = Safetensors
	return s.readShard(f, func(string) bool { return true })
}

// readShard adds those tensors of a file whose names are wanted.
func (s *Set) readShard(f *file, wanted func(name string) bool) error {
	if len(f.data) < 8 {
		return corruptf("a safetensors file of %d bytes", len(f.data))
	}
	size := binary.LittleEndian.Uint64(f.data)
	if size > maxHeader {
		return corruptf("a safetensors header of %d bytes: at most %d are allowed", size, maxHeader)
	}
	if have := len(f.data) - 8; size > uint64(have) {
		return corruptf("the safetensors header has %d bytes, but %d follow: the file was cut", size, have)
	}
	text := string(f.data[8 : 8+size])
	if !utf8.ValidString(text) {
		return corruptf("the safetensors header is not valid UTF-8")
	}
	elements := f.data[8+size:]
	h := &header{Reader: jsonpos.NewReader(text, maxDepth), file: f, elements: elements}
	if err := h.read(); err != nil {
		return err
	}
	if err := h.covers(); err != nil {
		return err
	}
	sorting.By(h.tensors, func(a, b *Tensor) int { return address(a.stored) - address(b.stored) })
	seen := map[string]bool{}
	for _, t := range h.tensors {
		if seen[t.Name] {
			return corruptf("the name %q is given to two tensors", t.Name)
		}
		seen[t.Name] = true
		if wanted(t.Name) {
			if err := s.append(t); err != nil {
				return err
			}
		}
	}
	if s.metadata == nil {
		s.metadata = h.metadata
	}
	return nil
}

// header reads the JSON of a file.
type header struct {
	*jsonpos.Reader
	file     *file
	elements []byte
	tensors  []*Tensor
	spans    []span
	metadata map[string]string
}

func (h *header) read() error {
	metadata := false
	h.Object(func(name string) {
		if name != "__metadata__" {
			if err := h.tensor(name); err != nil {
				h.Fail("tensor %q: %v", name, err)
			}
			return
		}
		if metadata {
			h.Fail("__metadata__ is repeated")
		}
		metadata = true
		h.texts(h.Value())
	})
	if err := h.End(); err != nil {
		return corruptf("the safetensors header: %v", err)
	}
	return nil
}

// texts sets the metadata: an object of texts, or null.
func (h *header) texts(v any) {
	object, ok := v.(map[string]any)
	for _, member := range object {
		_, isText := member.(string)
		ok = ok && isText
	}
	if !ok && v != nil {
		h.Fail("__metadata__ is not an object of texts")
	}
	h.metadata = metadataOf(object)
}

// tensor reads the description of a tensor.
func (h *header) tensor(name string) error {
	var dtype string
	var shape, offsets []int64
	count := 0
	h.Object(func(key string) {
		count++
		switch key {
		case "dtype":
			dtype, _ = h.Value().(string)
		case "shape":
			shape = h.integers()
		case "data_offsets":
			offsets = h.integers()
		default:
			h.Fail("the key %q is unknown", key)
		}
	})
	t := &Tensor{Name: name, Shape: shape, file: h.file}
	i := slices.IndexFunc(safetensorsTypes, func(s safetensorsType) bool { return s.name == dtype })
	switch {
	case count != 3 || shape == nil || len(offsets) != 2:
		return fmt.Errorf("want dtype, shape and two data_offsets")
	case i < 0:
		return fmt.Errorf("the dtype %q is unknown", dtype)
	}
	t.DType = safetensorsTypes[i].dtype
	if err := setSize(t); err != nil {
		return err
	}
	begin, end := offsets[0], offsets[1]
	switch {
	case begin > end || end > int64(len(h.elements)):
		return fmt.Errorf("data_offsets %d to %d are not within the %d bytes of elements: the file was cut or changed",
			begin, end, len(h.elements))
	case end-begin != t.Size:
		return fmt.Errorf("%v%v takes %d bytes, data_offsets have %d", t.DType, t.Shape, t.Size, end-begin)
	case int(t.DType.Bits)%8 != 0 && wholeBits(t)%8 != 0:
		return fmt.Errorf("the elements do not fill whole bytes")
	}
	t.stored = h.elements[begin:end:end]
	h.tensors = append(h.tensors, t)
	h.spans = append(h.spans, span{name, begin, end})
	return nil
}

// wholeBits returns the number of bits of a tensor, modulo 8.
func wholeBits(t *Tensor) int64 {
	n, _ := dlpack.NumElements(t.Shape)
	return n % 8 * int64(t.DType.Bits)
}

// covers checks that the tensors use every byte once, as the format demands.
func (h *header) covers() error {
	if err := overlapping(h.spans); err != nil {
		return err
	}
	at := int64(0)
	for _, s := range h.spans {
		if s.begin < at { // only an empty tensor, after overlapping
			return corruptf("the empty tensor %q begins at byte %d, within another tensor", s.name, s.begin)
		}
		if s.begin > at {
			break
		}
		at = s.end
	}
	if at != int64(len(h.elements)) {
		return corruptf("byte %d of %d bytes of elements belongs to no tensor", at, len(h.elements))
	}
	return nil
}

// maxRank is the most dimensions of a tensor in JSON.
const maxRank = 1024

// integers reads a list of integers that are at least 0.
func (h *header) integers() []int64 {
	list := []int64{}
	h.List(func() {
		n, _ := h.Value().(json.Number)
		v, err := strconv.ParseInt(string(n), 10, 64)
		if err != nil || v < 0 || len(list) == maxRank {
			h.Fail("want at most %d integers of at least 0", maxRank)
		}
		list = append(list, v)
	})
	return list
}

// loadShards reads an index of safetensors: which file has which tensor. The tensors are in the order of the files, and
// these in the order of the index.
func (s *Set) loadShards(fsys fs.FS, dir, text string) error {
	s.format = Safetensors
	var shards []string
	names := map[string]map[string]bool{} // shard → names of its tensors
	owner := map[string]bool{}
	r := jsonpos.NewReader(text, maxDepth)
	r.Object(func(key string) {
		if key != "weight_map" {
			r.Value()
			return
		}
		r.Object(func(tensor string) {
			shard, ok := r.Value().(string)
			if !ok || owner[tensor] {
				r.Fail("tensor %q: want the name of one file", tensor)
				return
			}
			owner[tensor] = true
			if names[shard] == nil {
				names[shard] = map[string]bool{}
				shards = append(shards, shard)
			}
			names[shard][tensor] = true
		})
	})
	if err := r.End(); err != nil {
		return corruptf("the index: %v", err)
	}
	for _, shard := range shards {
		name, err := shardPath(dir, shard)
		if err != nil {
			return err
		}
		f, err := s.openFile(fsys, name)
		if err != nil {
			return fmt.Errorf("the shard %s: %w", shard, err)
		}
		had := len(s.tensors)
		if err := s.readShard(f, func(n string) bool { return names[shard][n] }); err != nil {
			return fmt.Errorf("the shard %s: %w", shard, err)
		}
		if len(s.tensors)-had != len(names[shard]) {
			for n := range names[shard] {
				if s.byName[n] == nil {
					return corruptf("the shard %s has no tensor %q, which the index expects there", shard, n)
				}
			}
		}
	}
	return nil
}

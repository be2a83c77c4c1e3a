package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"

	"tvmgo/dlpack"
)

// bf16Encoding is the name of float32 elements of which a file has the upper halves.
const bf16Encoding = "f32-to-bf16"

// loadCache reads the records of a tensor cache: shards, each with the tensors in it.
func (s *Set) loadCache(fsys fs.FS, dir string, records any) error {
	s.format = TensorCache
	list, ok := records.([]any)
	if !ok {
		return corruptf("records is not a list")
	}
	for i, v := range list {
		shard := object{where: fmt.Sprintf("records[%d]", i)}
		shard.members, _ = v.(map[string]any)
		path, format, size := shard.text("dataPath"), shard.text("format"), shard.integer("nbytes")
		tensors, ok := shard.members["records"].([]any)
		switch {
		case shard.err != nil:
			return shard.err
		case !ok:
			return corruptf("%s has no list of records", shard.where)
		case format != "raw-shard":
			return corruptf("%s: the format %q is unknown: want raw-shard", shard.where, format)
		}
		name, err := shardPath(dir, path)
		if err != nil {
			return err
		}
		f, err := s.openFile(fsys, name)
		if err != nil {
			return fmt.Errorf("the shard %s: %w", path, err)
		}
		if size != int64(len(f.data)) {
			return corruptf("the shard %s has %d bytes, not %d: copy it again", path, len(f.data), size)
		}
		if err := s.readRecords(f, tensors, shard.where); err != nil {
			return fmt.Errorf("the shard %s: %w", path, err)
		}
	}
	return nil
}

func (s *Set) readRecords(f *file, records []any, where string) error {
	var spans []span
	for i, v := range records {
		r := object{where: fmt.Sprintf("%s.records[%d]", where, i)}
		r.members, _ = v.(map[string]any)
		t := &Tensor{Name: r.text("name"), file: f}
		dtype, format := r.text("dtype"), r.text("format")
		begin, size := r.integer("byteOffset"), r.integer("nbytes")
		t.Shape = r.integers("shape")
		if r.err != nil {
			return r.err
		}
		var err error
		if t.DType, err = cacheType(dtype); err != nil {
			return corruptf("%s: %v", r.where, err)
		}
		if err := sized(t); err != nil {
			return err
		}
		want := t.Size
		switch {
		case format == bf16Encoding && t.DType == dlpack.Float32:
			want, t.Encoding, t.decode = t.Size/2, bf16Encoding, fromBF16
		case format != bf16Encoding && format != "raw":
			return corruptf("tensor %q: the format %q is unknown: want raw or %s", t.Name, format, bf16Encoding)
		}
		if size != want {
			return corruptf("tensor %q: %v%v takes %d bytes, not %d", t.Name, t.DType, t.Shape, want, size)
		}
		if begin > int64(len(f.data)) || size > int64(len(f.data))-begin {
			return corruptf("tensor %q: bytes %d to %d are not within the shard of %d bytes", t.Name, begin, begin+size,
				len(f.data))
		}
		t.stored = f.data[begin : begin+size : begin+size]
		spans = append(spans, span{t.Name, begin, begin + size})
		if err := s.append(t); err != nil {
			return err
		}
	}
	return overlapping(spans)
}

// cacheType parses a type of either generation.
func cacheType(name string) (dlpack.DataType, error) {
	t, err := dlpack.ParseDataType(name)
	if err != nil {
		if classic, other := dlpack.ParseDataTypeClassic(name); other == nil {
			return classic, nil
		}
	}
	return t, err
}

// fromBF16 widens bfloat16 elements to float32.
func fromBF16(out, stored []byte) error {
	for i := 0; i+1 < len(stored); i += 2 {
		binary.LittleEndian.PutUint32(out[2*i:], uint32(binary.LittleEndian.Uint16(stored[i:]))<<16)
	}
	return nil
}

// object reads members of a JSON object. After the first mistake err is set.
type object struct {
	where   string
	members map[string]any
	err     error
}

func (o *object) text(key string) string {
	v, ok := o.members[key].(string)
	if !ok && o.err == nil {
		o.err = corruptf("%s has no text %s", o.where, key)
	}
	return v
}

func (o *object) integer(key string) int64 { return o.number(key, o.members[key]) }

func (o *object) number(key string, v any) int64 {
	text, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(text), 10, 64)
	if (err != nil || n < 0) && o.err == nil {
		o.err = corruptf("%s has no %s of integers that are at least 0", o.where, key)
	}
	return max(n, 0)
}

func (o *object) integers(key string) []int64 {
	list, ok := o.members[key].([]any)
	if !ok && o.err == nil {
		o.err = corruptf("%s has no list %s", o.where, key)
	}
	numbers := make([]int64, len(list))
	for i, v := range list {
		numbers[i] = o.number(key, v)
	}
	return numbers
}

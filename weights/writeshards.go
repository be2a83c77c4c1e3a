package weights

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"unicode/utf8"

	"tvmgo/dlpack"
	"tvmgo/internal/atomicfile"
)

// DefaultShard is the size of shards in bytes that [WriteCache] and [WriteShards] use for 0: that of TVM.
const DefaultShard = 32 << 20

// CacheOptions are the options of [WriteCache].
type CacheOptions struct {
	ShardBytes int64             // a shard has more bytes only if one tensor has; 0: [DefaultShard]
	BFloat16   bool              // store float32 tensors as bfloat16, rounded to nearest; readers widen them again
	Metadata   map[string]string // for tensor-cache.json
}

// WriteCache writes a tensor cache of TVM into a folder, which it makes if necessary: shards params_shard_N.bin, and
// tensor-cache.json, which appears last. Elements are aligned to 64 bytes in the shards.
func WriteCache(dir string, arrays []Array, o CacheOptions) error {
	if err := check(arrays); err != nil {
		return fmt.Errorf("write weights %s: %w", dir, err)
	}
	err := writeSet(dir, func(set *atomicfile.Set) error {
		shards := []cacheShard{}
		for _, list := range split(arrays, o.ShardBytes) {
			shard, parts, err := encodeShard(list, o.BFloat16)
			if err != nil {
				return err
			}
			shard.Path = fmt.Sprintf("params_shard_%d.bin", len(shards))
			if err := set.Write(shard.Path, parts); err != nil {
				return err
			}
			shards = append(shards, shard)
		}
		metadata := o.Metadata
		if metadata == nil {
			metadata = map[string]string{}
		}
		return writeJSON(set, "tensor-cache.json", struct {
			Metadata map[string]string `json:"metadata"`
			Records  []cacheShard      `json:"records"`
		}{metadata, shards})
	})
	if err != nil {
		return fmt.Errorf("write weights %s: %w", dir, err)
	}
	return nil
}

type cacheShard struct {
	Path    string        `json:"dataPath"`
	Format  string        `json:"format"`
	Bytes   int64         `json:"nbytes"`
	Records []cacheRecord `json:"records"`
	MD5     string        `json:"md5sum"`
}

type cacheRecord struct {
	Name   string  `json:"name"`
	Shape  []int64 `json:"shape"`
	DType  string  `json:"dtype"`
	Format string  `json:"format"`
	Bytes  int64   `json:"nbytes"`
	Offset int64   `json:"byteOffset"`
}

// encodeShard returns the description and the parts of a shard.
func encodeShard(arrays []Array, narrow bool) (cacheShard, [][]byte, error) {
	shard := cacheShard{Format: "raw-shard", Records: []cacheRecord{}}
	var parts [][]byte
	sum := md5.New() // readers of TVM compare it
	put := func(b []byte) {
		sum.Write(b)
		parts = append(parts, b)
		shard.Bytes += int64(len(b))
	}
	for _, a := range arrays {
		name, err := cacheTypeName(a)
		if err != nil {
			return shard, nil, err
		}
		put(make([]byte, padding(shard.Bytes)))
		r := cacheRecord{Name: a.Name, Shape: append([]int64{}, a.Shape...), DType: name, Format: "raw", Offset: shard.Bytes}
		data := a.Data
		if narrow && a.DType == dlpack.Float32 {
			r.Format, data = bf16Encoding, toBF16(a.Data)
		}
		r.Bytes = int64(len(data))
		put(data)
		shard.Records = append(shard.Records, r)
	}
	shard.MD5 = hex.EncodeToString(sum.Sum(nil))
	return shard, parts, nil
}

func cacheTypeName(a Array) (string, error) {
	t := a.DType
	if t == dlpack.ClassicBool {
		t = dlpack.Bool
	}
	name := t.String()
	if !utf8.ValidString(a.Name) {
		return "", fmt.Errorf("tensor %q: the name is not valid UTF-8", a.Name)
	}
	if again, err := dlpack.ParseDataType(name); err != nil || again != t || t.Bits%8 != 0 {
		return "", fmt.Errorf("tensor %q: a tensor cache has no type for %v: write safetensors", a.Name, a.DType)
	}
	return name, nil
}

// toBF16 narrows float32 elements. Finite numbers stay finite, as in TVM.
func toBF16(data []byte) []byte {
	out := make([]byte, 0, len(data)/2)
	for i := 0; i+3 < len(data); i += 4 {
		bits := uint32(data[i]) | uint32(data[i+1])<<8 | uint32(data[i+2])<<16 | uint32(data[i+3])<<24
		v := float64(math.Float32frombits(bits))
		half := uint16(dlpack.BFloat16Of(v))
		if half&0x7fff == 0x7f80 && !math.IsInf(v, 0) {
			half--
		}
		out = append(out, byte(half), byte(half>>8))
	}
	return out
}

// WriteShards writes safetensors into a folder, which it makes if necessary: files of at most shardBytes (0:
// [DefaultShard]) unless one tensor has more, and model.safetensors.index.json, which appears last. metadata is written
// to the index.
func WriteShards(dir string, arrays []Array, shardBytes int64, metadata map[string]string) error {
	if err := check(arrays); err != nil {
		return fmt.Errorf("write weights %s: %w", dir, err)
	}
	err := writeSet(dir, func(set *atomicfile.Set) error {
		shards := split(arrays, shardBytes)
		where := make(map[string]string, len(arrays))
		for i, list := range shards {
			name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
			parts := &gather{}
			if err := Encode(parts, Safetensors, list, nil); err != nil {
				return err
			}
			if err := set.Write(name, parts.list); err != nil {
				return err
			}
			for _, a := range list {
				where[a.Name] = name
			}
		}
		return writeJSON(set, "model.safetensors.index.json", struct {
			Metadata map[string]string `json:"metadata,omitempty"`
			Map      map[string]string `json:"weight_map"`
		}{metadata, where})
	})
	if err != nil {
		return fmt.Errorf("write weights %s: %w", dir, err)
	}
	return nil
}

// gather keeps what is written to it, without a copy.
type gather struct{ list [][]byte }

func (g *gather) Write(b []byte) (int, error) {
	g.list = append(g.list, b)
	return len(b), nil
}

// split divides arrays, in their order, into lists of at most size bytes unless one array has more.
func split(arrays []Array, size int64) (shards [][]Array) {
	if size <= 0 {
		size = DefaultShard
	}
	sum := int64(0)
	for _, a := range arrays {
		n := int64(len(a.Data))
		n += padding(n)
		if len(shards) == 0 || sum+n > size {
			shards, sum = append(shards, nil), 0
		}
		last := &shards[len(shards)-1]
		*last, sum = append(*last, a), sum+n
	}
	return shards
}

// writeSet writes files of a folder that appear together.
func writeSet(dir string, write func(set *atomicfile.Set) error) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return atomicfile.Cause(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return atomicfile.Cause(err)
	}
	defer root.Close()
	set, err := atomicfile.NewSet(root)
	if err != nil {
		return err
	}
	defer set.Discard()
	if err := write(set); err != nil {
		return err
	}
	if failed, err := set.Commit(); err != nil {
		return fmt.Errorf("the file %s: %w", failed, err)
	}
	return nil
}

func writeJSON(set *atomicfile.Set, name string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return set.Write(name, [][]byte{b.Bytes()})
}

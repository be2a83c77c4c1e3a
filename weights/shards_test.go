package weights_test

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/weights"
)

// model is a model for several shards of 1000 bytes.
func model(t testing.TB) []weights.Array {
	return []weights.Array{array(t, "é", dlpack.Float32, 5), array(t, "large", dlpack.Float32, 30, 40),
		array(t, "b", dlpack.ClassicBool, 7), array(t, "half", dlpack.BFloat16, 100),
		array(t, "f8", dlpack.Float8E4M3FN, 99), array(t, "scalar", dlpack.Int64), array(t, "none", dlpack.Int8, 0)}
}

// Caches and shards are read as they were written, from their folder, their index, and file systems.
func TestWriteShards_RoundTrip(t *testing.T) {
	want := model(t)
	for _, write := range []func(dir string) error{
		func(dir string) error {
			return weights.WriteCache(dir, want, weights.CacheOptions{ShardBytes: 1000, Metadata: map[string]string{"k": "v"}})
		},
		func(dir string) error { return weights.WriteShards(dir, want, 1000, map[string]string{"k": "v"}) },
	} {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		require.NoError(t, write(dir))
		files := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
		require.Greater(t, len(files), 3)
		index := must.Get(filepath.Glob(filepath.Join(dir, "*.json")))(t)[0]
		whole := fstest.MapFS{}
		for _, f := range files {
			whole["in/"+filepath.Base(f)] = &fstest.MapFile{Data: must.Get(os.ReadFile(f))(t)}
		}
		for _, set := range []*weights.Set{must.Open(weights.Open(dir))(t), must.Open(weights.Open(index))(t),
			must.Open(weights.OpenFS(whole, "in"))(t)} {
			requireSame(t, want, set)
			require.Equal(t, "v", set.Metadata()["k"])
			if set.Format() == weights.TensorCache {
				for _, w := range set.Tensors() {
					require.True(t, w.IsAligned(), w.Name)
				}
			}
		}
		require.True(t, weights.Recognizes(dir))
		require.True(t, weights.Recognizes(index))

		require.NoError(t, os.Remove(files[0]))
		err := must.Fail(weights.Open(dir))
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, "the shard "+filepath.Base(files[0]))
	}
	require.ErrorContains(t, weights.WriteCache(t.TempDir(), []weights.Array{array(t, "w", dlpack.Float4E2M1FN, 2)},
		weights.CacheOptions{}), "write safetensors")
}

// Every truncation and many changes of a byte of an index are an error or a valid set.
func TestOpen_DamagedIndex(t *testing.T) {
	for _, write := range []func(dir string) error{
		func(dir string) error { return weights.WriteCache(dir, model(t)[:3], weights.CacheOptions{}) },
		func(dir string) error { return weights.WriteShards(dir, model(t)[:3], 0, nil) },
	} {
		dir := t.TempDir()
		require.NoError(t, write(dir))
		files := fstest.MapFS{}
		index := ""
		for _, f := range must.Get(filepath.Glob(filepath.Join(dir, "*")))(t) {
			files[filepath.Base(f)] = &fstest.MapFile{Data: must.Get(os.ReadFile(f))(t)}
			if strings.HasSuffix(f, ".json") {
				index = filepath.Base(f)
			}
		}
		good := files[index].Data
		try := func(data []byte) error {
			files[index] = &fstest.MapFile{Data: data}
			set, err := weights.OpenFS(files, index)
			if err == nil {
				for _, w := range set.Tensors() {
					require.Len(t, must.Get(w.Data())(t), int(w.Size))
				}
				require.NoError(t, set.Close())
			}
			return err
		}
		require.NoError(t, try(good))
		for n := range len(bytes.TrimSpace(good)) {
			require.Error(t, try(good[:n]), "cut to %d", n)
		}
		wrong := 0
		for at := range good {
			for _, c := range []byte{0, '"', '9', '-', '}', '/', good[at] ^ 1} {
				changed := bytes.Clone(good)
				changed[at] = c
				if try(changed) != nil {
					wrong++
				}
			}
		}
		require.Greater(t, wrong, len(good))
	}
	for text, want := range map[string]string{
		`{"weight_map":{"a":"../x"}}`:        "not in its folder",
		`{"weight_map":{"a":"/etc/passwd"}}`: "not in its folder",
		`{"weight_map":{"a":3}}`:             "want the name of one file",
		`{"weight_map":[]}`:                  "want an object",
		`{"records":{}}`:                     "not a list",
		`{"records":[{}]}`:                   "no text dataPath",
		`{"records":[{"dataPath":"f","format":"x","nbytes":1,"records":[]}]}`:          `format "x" is unknown`,
		`{"records":[{"dataPath":"f","format":"raw-shard","nbytes":-1,"records":[]}]}`: "at least 0",
		`{"records":[{"dataPath":"f","format":"raw-shard","nbytes":9,"records":[]}]}`:  "has 1 bytes, not 9",
	} {
		_, err := weights.OpenFS(fstest.MapFS{"i.json": {Data: []byte(text)}, "f": {Data: []byte("x")}}, "i.json")
		require.ErrorContains(t, err, want, text)
		require.ErrorIs(t, err, weights.ErrCorrupt)
	}
}

// TVM reads caches that are written here, narrowed ones too: numbers are rounded as TVM rounds them.
func TestWheel_ReadsCaches(t *testing.T) {
	values := []float32{0, 1, -1, 1.00390625, 1.01171875, math.MaxFloat32, -math.MaxFloat32, 3.3895314e38,
		float32(math.Inf(1)), 1e-45, math.Float32frombits(0x3f808000), math.Float32frombits(0x3f818000)}
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	list := append(model(t)[3:4], weights.Array{Name: "f", DType: dlpack.Float32, Shape: []int64{12}, Data: data},
		array(t, "i", dlpack.Int32, 3, 100))
	dir := t.TempDir()
	require.NoError(t, weights.WriteCache(filepath.Join(dir, "raw"), list, weights.CacheOptions{ShardBytes: 500}))
	require.NoError(t, weights.WriteCache(filepath.Join(dir, "ours"), list, weights.CacheOptions{BFloat16: true}))
	wheel.Run(t, nil, "-c", `
import sys, tvm
from tvm.contrib import tvmjs
dir = sys.argv[1]
raw, _ = tvmjs.load_tensor_cache(dir + "/raw", tvm.cpu())
tvm.runtime.save_param_dict_to_file(raw, dir + "/raw.params")
tvm.runtime.save_param_dict_to_file(tvmjs.load_tensor_cache(dir + "/ours", tvm.cpu())[0], dir + "/ours.params")
tvmjs.dump_tensor_cache(raw, dir + "/theirs", show_progress=False)
`, dir)
	requireEqualSets(t, list, filepath.Join(dir, "raw.params"))
	narrow := contents(t, filepath.Join(dir, "theirs"))
	requireEqualSets(t, narrow, filepath.Join(dir, "ours"))
	requireEqualSets(t, narrow, filepath.Join(dir, "ours.params"))
}

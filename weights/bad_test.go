package weights_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/weights"
)

// readAll reads every tensor of a file in memory: an error, or sizes that are right.
func readAll(t *testing.T, data []byte) error {
	set, err := weights.Parse(data)
	if err != nil {
		return err
	}
	defer set.Close()
	for _, w := range set.Tensors() {
		b, err := w.Data()
		if err != nil {
			return err
		}
		require.EqualValues(t, must.Get(dlpack.DataSize(w.Shape, w.DType))(t), len(b))
	}
	return nil
}

// samples are small files of every format that consists of one file.
func samples(t testing.TB) map[string][]byte {
	list := []weights.Array{array(t, "a.weight", dlpack.Float32, 2, 3), array(t, "b", dlpack.Int8, 3)}
	files := map[string][]byte{"deflated": deflated(t)}
	for _, format := range []weights.Format{weights.Params, weights.TensorFile, weights.Safetensors, weights.NPZ,
		weights.NPY} {
		if format == weights.NPY || format == weights.TensorFile {
			list = list[:1]
		}
		var b bytes.Buffer
		require.NoError(t, weights.Encode(&b, format, list, nil))
		files[string(format)] = b.Bytes()
		list = list[:1]
		list = append(list, array(t, "b", dlpack.Int8, 3))
	}
	return files
}

// Every truncation is an error.
func TestParse_EveryTruncation(t *testing.T) {
	for name, data := range samples(t) {
		for n := range data {
			require.Error(t, readAll(t, data[:n]), "%s cut to %d of %d", name, n, len(data))
		}
		require.NoError(t, readAll(t, data))
	}
}

// Every change of a byte is an error or another valid file; bytes behind the end are an error.
func TestParse_EveryByteChanged(t *testing.T) {
	for name, data := range samples(t) {
		wrong := 0
		for at := range data {
			for _, c := range []byte{0, 1, 0x7f, 0x80, 0xff, data[at] ^ 1, data[at] + 1, '"', '9', '-'} {
				changed := bytes.Clone(data)
				changed[at] = c
				if readAll(t, changed) != nil {
					wrong++
				}
			}
		}
		require.Greater(t, wrong, len(data)/4, name)
		if name != "npz" && name != "deflated" { // an archive may have other bytes before and behind it
			require.Error(t, readAll(t, append(bytes.Clone(data), 0)), name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = readAll(t, data) })
}

func safetensors(header string, elements int) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(data, header...), make([]byte, elements)...)
}

// What is wrong is said, with the tensor and the numbers.
func TestParse_SafetensorsMistakes(t *testing.T) {
	const f32 = `"dtype":"F32","shape":[2],`
	for _, c := range []struct {
		header   string
		elements int
		want     string
	}{
		{`{}`, 1, "belongs to no tensor"},
		{`{"a":{` + f32 + `"data_offsets":[0,8]}}`, 7, "0 to 8 are not within the 7 bytes"},
		{`{"a":{` + f32 + `"data_offsets":[0,8]}}`, 9, "byte 8 of 9"},
		{`{"a":{` + f32 + `"data_offsets":[1,9]}}`, 9, "byte 0 of 9"},
		{`{"a":{` + f32 + `"data_offsets":[8,0]}}`, 8, "not within"},
		{`{"a":{` + f32 + `"data_offsets":[0,4]}}`, 8, "takes 8 bytes, data_offsets have 4"},
		{`{"a":{` + f32 + `"data_offsets":[0,8]},"b":{` + f32 + `"data_offsets":[4,12]}}`, 12,
			`"a" and "b" share bytes 4 to 7`},
		{`{"a":{` + f32 + `"data_offsets":[0,8]},"a":{` + f32 + `"data_offsets":[8,16]}}`, 16, `"a" is given to two`},
		{`{"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}}`, 8, `the dtype "F33" is unknown`},
		{`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8, "integers of at least 0"},
		{`{"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}}`, 8, "integers of at least 0"},
		{`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0,
			`(line 1): tensor "a": shape [4294967296 4294967296]: `},
		{`{"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}}`, 8, "want a list"},
		{`{"a":{"dtype":"F32","shape":[2]}}`, 0, "want dtype, shape and two data_offsets"},
		{`{"a":{` + f32 + `"data_offsets":[0,8],"x":1}}`, 8, `the key "x" is unknown`},
		{`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2, "do not fill whole bytes"},
		{`{"a":1}`, 0, "want an object"},
		{`{"__metadata__":1}`, 0, "not an object of texts"},
		{`{"__metadata__":{"a":"1","b":2}}`, 0, "not an object of texts"},
		{`{"__metadata__":{"a":null}}`, 0, "not an object of texts"},
		{`{"a":{` + f32 + `"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`, 8,
			`the empty tensor "b" begins at byte 4, within another`},
		{`{"a":{` + f32 + `"data_offsets":[0,8]}} x`, 8, "more text follows"},
		{"{\"\xff\":{" + f32 + `"data_offsets":[0,8]}}`, 8, "not valid UTF-8"},
		{`{"__metadata__":` + strings.Repeat(`{"a":`, 100), 0, "more than 64 levels"},
		{`{"a":{"dtype":"F32","data_offsets":[0,0],"shape":[0` + strings.Repeat(",0", 2000) + `]}}`, 0, "at most 1024"},
	} {
		_, err := weights.Parse(safetensors(c.header, c.elements))
		require.ErrorContains(t, err, c.want, c.header[:min(len(c.header), 200)])
		require.ErrorIs(t, err, weights.ErrCorrupt)
	}
	none := must.Open(weights.Parse(safetensors(`{"__metadata__":null}`, 0)))(t)
	require.Nil(t, none.Metadata(), "null stands for no metadata")
	long := safetensors("{", 0)
	binary.LittleEndian.PutUint64(long, 1<<40)
	require.ErrorContains(t, must.Fail(weights.Parse(long)), "at most 100000000")
	binary.LittleEndian.PutUint64(long, 20)
	require.ErrorContains(t, must.Fail(weights.Parse(long)), "the file was cut")
}

// Files of other formats are recognised, and the error says what to do.
func TestOpen_OtherFormats(t *testing.T) {
	dir := t.TempDir()
	for begin, want := range map[string]string{
		"GGUF....": "convert it to safetensors", "\x80\x02....": "a pickle of Python", "\x7fELF....": "a library",
		"hello, world": "no known format", "": "empty", "{}": "neither weight_map",
	} {
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, []byte(begin), 0o600))
		err := must.Fail(weights.Open(path))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "open weights "+path+": ")
		require.ErrorIs(t, err, weights.ErrCorrupt)
	}
	require.ErrorContains(t, must.Fail(weights.Open(dir)), "the folder has none of tensor-cache.json")
	err := must.Fail(weights.Open(filepath.Join(dir, "none")))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, "open weights "+filepath.Join(dir, "none")+": no such file or directory: check the path", err.Error())
	require.ErrorContains(t, must.Fail(weights.Open("/dev/null")), "not a regular file")
}

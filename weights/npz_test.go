package weights_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/testing/must"
	"tvmgo/weights"
)

func npy(t testing.TB, a weights.Array) []byte {
	var b bytes.Buffer
	require.NoError(t, npyfile.WriteHeader(&b, a.DType, a.Shape))
	b.Write(a.Data)
	return b.Bytes()
}

// archive writes members with a method.
func archive(t testing.TB, method uint16, members map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range members {
		h := &zip.FileHeader{Name: name, Method: method}
		w := must.Get(z.CreateHeader(h))(t)
		must.Get(w.Write(data))(t)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func deflated(t testing.TB) []byte {
	return archive(t, zip.Deflate, map[string][]byte{"a.npy": npy(t, array(t, "a", dlpack.Float32, 2, 3))})
}

// Compressed members, big-endian and column-major arrays are converted once, when they are asked for.
func TestNPZ_Converted(t *testing.T) {
	a := array(t, "a", dlpack.Int32, 40, 50)
	set := must.Open(weights.Parse(archive(t, zip.Deflate, map[string][]byte{"a.npy": npy(t, a)})))(t)
	w := must.Get(set.Lookup("a"))(t)
	require.Equal(t, "deflate", w.Encoding)
	require.False(t, w.IsView())
	data := must.Get(w.Data())(t)
	require.True(t, bytes.Equal(a.Data, data))
	require.Same(t, &data[0], &must.Get(w.Aligned())(t)[0], "one copy")

	for name, c := range map[string]struct{ from, to, want string }{
		"big-endian":   {"<i4", ">i4", "big-endian"},
		"column-major": {"False", "True ", "column-major"},
	} {
		b := bytes.Replace(npy(t, a), []byte(c.from), []byte(c.to), 1)
		if len(c.to) > len(c.from) { // keep the length of the header
			b = bytes.Replace(b, []byte("  "), []byte(" "), 1)
		}
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			set := must.Open(weights.Parse(archive(t, method, map[string][]byte{"a.npy": b})))(t)
			w := set.Tensors()[0]
			if method == zip.Store {
				require.Equal(t, c.want, w.Encoding)
			}
			got := must.Get(w.Data())(t)
			for i := range 40 {
				for j := range 50 {
					at, swap := i*50+j, name == "big-endian"
					want := binary.LittleEndian.Uint32(a.Data[4*at:])
					if swap {
						want = binary.BigEndian.Uint32(a.Data[4*at:])
					} else {
						want = binary.LittleEndian.Uint32(a.Data[4*(j*40+i):])
					}
					require.Equal(t, want, binary.LittleEndian.Uint32(got[4*at:]), name)
				}
			}
		}
	}
}

// Tricks with archives are errors: sizes that do not agree, members that share bytes, names twice, encryption.
func TestNPZ_Tricks(t *testing.T) {
	a, b := npy(t, array(t, "a", dlpack.Int8, 64)), npy(t, array(t, "b", dlpack.Int8, 64))
	good := func(method uint16) []byte { return archive(t, method, map[string][]byte{"a.npy": a}) }
	directory := func(data []byte) int { return bytes.Index(data, []byte("PK\x01\x02")) }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"encrypted": {edit(good(zip.Store), func(d []byte) { d[directory(d)+8] |= 1 }), "encrypted"},
		"method":    {edit(good(zip.Store), func(d []byte) { d[directory(d)+10] = 99 }), "method 99"},
		"bomb": {edit(good(zip.Deflate), func(d []byte) {
			binary.LittleEndian.PutUint32(d[directory(d)+24:], 1<<31)
		}), "cannot be compressed"},
		"two sizes": {edit(good(zip.Store), func(d []byte) { d[directory(d)+24]++ }), "two sizes"},
		"no array":  {archive(t, zip.Store, map[string][]byte{"a.txt": a}), "not end in .npy"},
		"PyTorch":   {archive(t, zip.Store, map[string][]byte{"model/data.pkl": a}), "PyTorch"},
		"checksum":  {edit(good(zip.Deflate), func(d []byte) { d[directory(d)+16]++ }), "checksum"},
		"overlap": {edit(archive(t, zip.Store, map[string][]byte{"a.npy": a, "b.npy": b}), func(d []byte) {
			second := directory(d) + 46 + len("a.npy")
			binary.LittleEndian.PutUint32(d[second+42:], 0) // where the first one is
		}), "share bytes"},
	} {
		require.ErrorContains(t, readAll(t, c.data), c.want, name)
	}
	var twice bytes.Buffer
	z := zip.NewWriter(&twice)
	for range 2 {
		w := must.Get(z.Create("a.npy"))(t)
		must.Get(w.Write(a))(t)
	}
	require.NoError(t, z.Close())
	require.ErrorContains(t, readAll(t, twice.Bytes()), `"a" is given to two tensors`)
}

func edit(data []byte, change func(d []byte)) []byte {
	change(data)
	return data
}

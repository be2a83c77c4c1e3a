package pack

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// vectorData returns a file's test vectors with this index and data.
func vectorData(index, data string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(index))), index+data...)
}

func TestParseVectors(t *testing.T) {
	good := vectorData(`{"version":1,"vectors":[`+
		`{"function":"f","args":[{"type":"float32","shape":[2],"want":0},{"int":3}]},`+
		`{"function":"f","args":[{"float":1}]}]}`, "12345678")
	vectors := must.Get(parseVectors(good))(t)
	require.Len(t, vectors, 2)
	require.Equal(t, 1, vectors[1].number)
	for _, c := range []struct {
		data    []byte
		kind    error
		failure string
	}{
		{good[:7], runtime.ErrCorruptModule, "cut off"},
		{good[:60], runtime.ErrCorruptModule, "cut off: their index takes"},
		{good[:len(good)-1], runtime.ErrCorruptModule,
			"test vector 0 of f: argument 0: its content lies outside of the data"},
		{vectorData(strings.Repeat(" ", maxIndex+1), ""), runtime.ErrCorruptModule,
			"the index of the test vectors takes 4194305 bytes, and at most 4194304 are read"},
		{vectorData(`[`, ""), runtime.ErrCorruptModule, "the index of the test vectors"},
		{vectorData(`{"version":2}`, ""), runtime.ErrNotSupported, "of version 2, and this program knows 1: use a newer one"},
		{vectorData(`{"version":1,"vectors":[{"args":[{}]}]}`, ""), runtime.ErrCorruptModule,
			"not one of a tensor, an integer and a number"},
		{vectorData(`{"version":1,"vectors":[{"args":[{"int":1,"type":"int8"}]}]}`, ""), runtime.ErrCorruptModule,
			"not one of"},
		{vectorData(`{"version":1,"vectors":[{"args":[{"type":"what"}]}]}`, ""), runtime.ErrCorruptModule, "what"},
		{vectorData(`{"version":1,"vectors":[{"args":[{"type":"int8"}]}]}`, ""), runtime.ErrCorruptModule,
			"it has no content"},
		{vectorData(`{"version":1,"vectors":[{"args":[{"type":"int8","in":-1}]}]}`, "12"), runtime.ErrCorruptModule,
			"outside"},
		{vectorData(`{"version":1,"vectors":[{"args":[{"type":"int8","shape":[-1],"in":0}]}]}`, "12"),
			runtime.ErrCorruptModule, "argument 0"},
		{vectorData(`{"version":1,"vectors":[{"args":[{"type":"int8","in":9223372036854775807}]}]}`, "12"),
			runtime.ErrCorruptModule, "outside"},
	} {
		_, err := parseVectors(c.data)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.failure)
	}
}

func FuzzParseVectors(f *testing.F) {
	f.Add(vectorData(`{"version":1,"vectors":[{"function":"f","args":[{"type":"float32","shape":[2],"in":0,"want":0}]}]}`,
		"12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		vectors, err := parseVectors(data)
		if err != nil {
			return
		}
		for _, v := range vectors { // accepted vectors can be used
			for i := range v.Args {
				a := &v.Args[i]
				if a.Type == "" {
					continue
				}
				x, content, err := v.tensor(a, dlpack.Device{Type: dlpack.CPU})
				if err != nil {
					continue
				}
				_, err = v.compare(i, x, content, DefaultTolerance)
				x.Close()
				require.NoError(t, err)
			}
		}
	})
}

// TestNextInteger checks that both ends of a range are accepted, and nothing beyond them.
func TestNextInteger(t *testing.T) {
	for n, fits := range map[int64]bool{-129: false, -128: true, 127: true, 128: false} {
		b := &vectorBuilder{vector: &Vector{In: []any{n}}}
		got, err := b.nextInteger(-128, 127)
		if !fits {
			require.ErrorContains(t, err, "is out of range: it goes from -128 to 127")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, n, got)
	}
}

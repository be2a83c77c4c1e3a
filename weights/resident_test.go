package weights_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/weights"
)

// resident returns how many bytes of the mappings of a file are in memory, and how many mappings there are.
func resident(t *testing.T, path string) (sum, mappings int) {
	t.Helper()
	inside := false
	for line := range strings.Lines(string(must.Get(os.ReadFile("/proc/self/smaps"))(t))) {
		words := strings.Fields(line)
		if strings.Contains(words[0], "-") { // an address range begins a mapping
			if inside = words[len(words)-1] == path; inside {
				mappings++
			}
		}
		if inside && words[0] == "Rss:" {
			sum += must.Get(strconv.Atoi(words[1]))(t) << 10
		}
	}
	return sum, mappings
}

// unaligned writes safetensors whose elements begin 8 bytes behind a multiple of 64, in tensors of n bytes.
func unaligned(t *testing.T, count, n int) (path string, elements []byte) {
	var header strings.Builder
	for i := range count {
		fmt.Fprintf(&header, `,"t%d":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}`, i, n, i*n, (i+1)*n)
	}
	text := "{" + header.String()[1:] + "}"
	for (len(text)+8)%64 != 8 {
		text += " "
	}
	elements = make([]byte, count*n)
	for i := range elements {
		elements[i] = byte(i * 7 >> 3)
	}
	path = filepath.Join(t.TempDir(), "w.safetensors")
	data := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), elements...)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path, elements
}

// Opening reads the descriptions only. Aligning a file releases its pages, also if many tensors share a page; a closed
// set is unmapped.
func TestAlign_ReleasesTheFile(t *testing.T) {
	for _, c := range []struct{ count, n int }{{2, 8<<20 + 100}, {4000, 2000}} {
		path, elements := unaligned(t, c.count, c.n)
		set := must.Get(weights.Open(path))(t)
		opened, mappings := resident(t, path)
		require.Equal(t, 1, mappings)
		require.Less(t, opened, len(elements)/4+1<<20, "the elements are not read")
		whole := func() {
			for i, w := range set.Tensors() {
				require.True(t, bytes.Equal(elements[i*c.n:(i+1)*c.n], must.Get(w.Data())(t)))
			}
		}
		whole()
		used, _ := resident(t, path)
		require.GreaterOrEqual(t, used, len(elements)/4*3)
		require.False(t, set.Tensors()[0].IsAligned())
		require.NoError(t, set.Align())
		after, _ := resident(t, path)
		require.Less(t, after, len(elements)/20+1<<19, "of %d bytes", len(elements))
		whole()
		release := must.Get(set.Hold())(t)
		require.NoError(t, set.Close())
		whole() // the hold keeps the memory
		release()
		release()
		_, mappings = resident(t, path)
		require.Zero(t, mappings)
		require.ErrorContains(t, must.Fail(set.Tensors()[0].Data()), "the set is closed")
		require.ErrorContains(t, must.Fail(set.Hold()), "the set is closed")
	}
}

// Changes through views stay in the process; Release does not lose them while there is a Hold.
func TestViews_ArePrivate(t *testing.T) {
	path, elements := unaligned(t, 1, 1<<20)
	before := must.Get(os.ReadFile(path))(t)
	set := must.Open(weights.Open(path))(t)
	w := set.Tensors()[0]
	data := must.Get(w.Data())(t)
	data[5000]++
	release := must.Get(w.Hold())(t)
	w.Release()
	require.Equal(t, elements[5000]+1, data[5000])
	release()
	w.Release()
	require.Equal(t, elements[5000], data[5000])
	require.True(t, bytes.Equal(before, must.Get(os.ReadFile(path))(t)))

	one := must.Get(w.Aligned())(t)
	require.True(t, bytes.Equal(elements, one))
	require.Same(t, &one[0], &must.Get(w.Data())(t)[0], "one copy")
}

package vmcode_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/testing/must"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// requireSound requires that data gives an error, or an executable that can be printed and written, and that reads back
// the same.
func requireSound(t testing.TB, data []byte, numbering vmcode.Numbering) {
	t.Helper()
	e, err := vmcode.Parse(data, numbering)
	if err != nil {
		require.ErrorContains(t, err, "read Relax executable: ")
		return
	}
	again, err := e.Encode(e.Form)
	require.NoError(t, err)
	require.NotContains(t, e.Text(), "operation(")
	require.Contains(t, e.Stats(), "Globals")
	require.Len(t, e.Signatures(), len(e.Functions))
	same := must.Get(vmcode.Parse(again, e.Form.Numbering))(t)
	require.Equal(t, again, must.Get(same.Encode(e.Form))(t))
}

// bounded is the memory that parsing, printing and writing of n bytes may take.
func bounded(n int) uint64 { return uint64(400*n + 1<<16) }

func TestParse_EveryTruncation(t *testing.T) {
	mlp, _ := artifact(t)
	for _, data := range [][]byte{mlp, parts().bytes()} {
		for n := range data {
			require.Less(t, allocated(func() {
				require.ErrorIs(t, must.Fail(vmcode.Parse(data[:n], vmcode.Automatic)), blob.ErrCorrupt)
			}), bounded(n))
		}
	}
}

// Every byte of a program with all features is set to all values, and every byte of a compiled model to some.
func TestParse_EveryByte(t *testing.T) {
	mlp, _ := artifact(t)
	all := make([]byte, 0, 255)
	for v := 1; v < 256; v++ {
		all = append(all, byte(v))
	}
	classic := must.Get(unscoped().Encode(vmcode.Form{Version: 1, Numbering: vmcode.Classic}))(t)
	for _, c := range []struct {
		data      []byte
		numbering vmcode.Numbering
		changes   []byte // added to each byte
	}{
		{parts().bytes(), vmcode.Modern, all},
		{classic, vmcode.Classic, []byte{1, 2, 0x80, 0xff}},
		{classic, vmcode.Automatic, []byte{1, 0xff}},
		{mlp, vmcode.Modern, []byte{1, 0x80, 0xff}},
	} {
		for i := range c.data {
			old := c.data[i]
			most := uint64(0)
			for _, d := range c.changes {
				c.data[i] = old + d
				if len(c.changes) > 200 && d%16 != 1 {
					requireSound(t, c.data, c.numbering)
					continue
				}
				most = max(most, allocated(func() { requireSound(t, c.data, c.numbering) }))
			}
			c.data[i] = old
			require.Less(t, most, bounded(len(c.data)), "byte %d", i)
		}
	}
}

func FuzzParse(f *testing.F) {
	mlp, _ := artifact(f)
	f.Add(mlp)
	f.Add(parts().bytes())
	for _, form := range forms() {
		f.Add(must.Get(unscoped().Encode(form))(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, n := range []vmcode.Numbering{vmcode.Automatic, vmcode.Classic} {
			if bytes := allocated(func() { requireSound(t, data, n) }); bytes > bounded(len(data)) {
				t.Fatalf("%d bytes for an input of %d", bytes, len(data))
			}
		}
	})
}

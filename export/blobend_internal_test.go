package export

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A blob may end with its segment, but not after it, even if the file is longer.
func TestBlobOf_Ends(t *testing.T) {
	file := must.Get(os.ReadFile("../testdata/artifacts/modern/gpu_opencl.so"))(t)
	whole, layout, err := blobOf(file)
	require.NoError(t, err)
	require.NotNil(t, whole)
	f := must.Get(elf.NewFile(bytes.NewReader(file)))(t)
	symbols := must.Get(f.DynamicSymbols())(t)
	for _, s := range symbols {
		if s.Name != layout.Symbol() {
			continue
		}
		for _, p := range f.Progs {
			if p.Type != elf.PT_LOAD || s.Value < p.Vaddr || s.Value-p.Vaddr >= p.Filesz {
				continue
			}
			start := p.Off + s.Value - p.Vaddr
			room := p.Off + p.Filesz - start - 8
			for size, fits := range map[uint64]bool{room - 1: true, room: true, room + 1: false, room + 8: false,
				room + 9: false, 1<<64 - 1: false} {
				changed := bytes.Clone(file)
				binary.LittleEndian.PutUint64(changed[start:], size)
				got, _, err := blobOf(changed)
				if !fits {
					require.ErrorIs(t, err, runtime.ErrCorruptModule, "%d bytes too many", size-room)
					continue
				}
				require.NoError(t, err)
				require.Len(t, got, int(size)+8)
			}
			return
		}
	}
	t.Fatal("there is no segment with the blob")
}

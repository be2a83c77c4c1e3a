package inspect

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Truncated at any byte, a file gives an error or a report with a problem.
func TestRead_EveryTruncation(t *testing.T) {
	for _, name := range []string{"modern/addone_llvm.so", "classic/addone_llvm.so"} {
		data := load(t, name)
		for n := range data {
			report, err := inspectBytes(name, data[:n])
			if err == nil && len(report.Problems) == 0 {
				t.Fatalf("%s cut to %d of %d bytes passed", name, n, len(data))
			}
		}
	}
}

// Every byte of the headers, symbols, hash table and dynamic segment is set to several values.
func TestRead_EveryByteOfTheTables(t *testing.T) {
	for _, name := range []string{"modern/gpu_opencl.so", "classic/gpu_opencl.so"} {
		data := load(t, name)
		try := func(begin, end int) {
			for i := begin; i < end; i++ {
				old := data[i]
				for _, v := range []byte{0, old + 1, old ^ 0x80, 0xff} {
					data[i] = v
					requireSound(t, data)
				}
				data[i] = old
			}
		}
		try(0, 0xe00)
		whole := must.Get(openImage(name, bytes.NewReader(data), int64(len(data))))(t)
		for _, p := range whole.Progs {
			if p.Type.String() == "PT_DYNAMIC" {
				try(int(p.Off), int(p.Off+p.Filesz))
			}
		}
	}
}

func requireSound(t testing.TB, data []byte) {
	t.Helper()
	report, err := inspectBytes("x.so", data)
	if err != nil {
		require.True(t, strings.HasPrefix(err.Error(), "x.so: "), "%v", err)
		return
	}
	require.NoError(t, report.WriteText(io.Discard))
	for _, f := range report.Functions {
		require.NotEmpty(t, f.Name)
	}
	if report.Blob == nil {
		return
	}
	for _, m := range report.Blob.Modules {
		for _, child := range m.Imports {
			require.True(t, child > m.Index && child < len(report.Blob.Modules))
		}
	}
}

// One megabyte of names that share one long text would expand to gigabytes.
func TestNameTable_IsBounded(t *testing.T) {
	text := strings.Repeat("a", 1<<20) + "\x00"
	names := &nameTable{text: text, budget: 4 << 20}
	total := 0
	for i := range uint64(1000) {
		if name, ok := names.at(i); ok {
			total += len(name)
		}
	}
	require.Positive(t, total)
	require.LessOrEqual(t, total, 4<<20)
}

// A hash table whose chain extends to the end of the file.
func TestRead_EndlessChain(t *testing.T) {
	data := load(t, "modern/addone_llvm.so")
	whole := must.Get(openImage("x.so", bytes.NewReader(data), int64(len(data))))(t)
	tags, _, err := whole.dynamicTags()
	require.NoError(t, err)
	at := tags[0x6ffffef5] // DT_GNU_HASH; the first segment starts at 0
	for i := at + 16; i < uint64(len(data))-4 && i < 0x1000; i += 4 {
		binary.LittleEndian.PutUint32(data[i:], 0xfffffffe)
	}
	require.ErrorContains(t, must.Fail(inspectBytes("x.so", data)), "damaged file")
}

func FuzzInspect(f *testing.F) {
	for _, name := range smallest {
		f.Add(loadSmall(f, name))
	}
	for _, name := range libraries(f) {
		f.Add(load(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) { requireSound(t, data) })
}

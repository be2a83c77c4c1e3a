package cudaimage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// ptxas and fatbinary of CUDA 12.4 and 13.0 made the cubins and fatbins from k.ptx.
func file(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
}

var (
	named = []Kernel{{Name: "scale", Params: []int{8, 12, 4, 2}}, {Name: "nothing", Params: []int{}},
		{Name: "bare", Params: []int{}}}
	names = []string{"bare", "nothing", "scale"}
)

func TestDescribe_PTX(t *testing.T) {
	for _, tail := range []string{"", "\x00", "\n\x00\x00"} {
		info := must.Get(Describe([]byte(string(file(t, "k.ptx")) + tail)))(t)
		require.Equal(t, Info{PTX, []Part{{Format: PTX, Arch: "sm_90a", PTXVersion: "8.4", Kernels: named}}}, info)
		require.Equal(t, "PTX for compute_90a", info.For())
		require.Equal(t, names, info.Kernels())
	}
	info := must.Get(Describe([]byte("\ufeff.version 7.0")))(t)
	require.Equal(t, Source, info.Format, "the byte order mark is part of the first word")
}

func TestDescribe_Cubin(t *testing.T) {
	for _, name := range []string{"cuda12_sm_90a.cubin", "cuda13_sm_90a.cubin"} {
		info, err := Describe(file(t, name))
		require.NoError(t, err, name)
		require.Equal(t, CUBIN, info.Format)
		require.Equal(t, "sm_90a", info.For(), name)
		require.Equal(t, names, info.Kernels(), name)
	}
	// In a library that TVM exported, the bytes after the image are those of the blob and of the library.
	exported := must.Get(os.ReadFile("../../testdata/artifacts/modern/gpu_cuda.so"))(t)
	info := must.Get(Describe(exported[1+strings.Index(string(exported[1:]), "\x7fELF"):]))(t)
	require.Equal(t, "sm_90", info.For())
	require.Equal(t, []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}, info.Kernels())
}

// Device functions and undefined symbols are not kernels.
func TestDescribe_OtherFunctions(t *testing.T) {
	image := file(t, "cuda13_sm_90a.cubin")
	f := must.Get(elf.NewFile(bytes.NewReader(image)))(t)
	table := f.SectionByType(elf.SHT_SYMTAB)
	for at := table.Offset; at < table.Offset+table.Size; at += symbolSize {
		if image[at+4]&0xf != symbolFunc {
			continue
		}
		for offset, value := range map[uint64]byte{4: 1, 5: 0, 6: 0} {
			changed := slices.Clone(image)
			changed[at+offset] = value
			info := must.Get(Describe(changed))(t)
			require.Len(t, info.Kernels(), 2)
		}
	}
}

func TestDescribe_Fatbin(t *testing.T) {
	info := must.Get(Describe(file(t, "plain.fatbin")))(t)
	require.Equal(t, Fatbin, info.Format)
	require.Equal(t, "sm_80, sm_90a and PTX for compute_100f", info.For())
	require.Equal(t, names, info.Kernels())
	require.Equal(t, Part{Format: PTX, Arch: "sm_100f", PTXVersion: "9.0", Kernels: named}, info.Parts[2])
	for _, p := range info.Parts {
		require.Len(t, p.Kernels, 3)
	}

	info = must.Get(Describe(file(t, "packed.fatbin")))(t)
	require.Equal(t, "sm_100f and PTX for compute_100f", info.For())
	require.Empty(t, info.Kernels())
	require.True(t, info.Parts[0].Compressed && info.Parts[1].Compressed)

	// A part of an unknown kind is named by its number.
	future := file(t, "packed.fatbin")
	future[fatbinHeader] = 77
	info = must.Get(Describe(future))(t)
	require.Equal(t, Format("kind 77"), info.Parts[0].Format)
	empty := must.Get(Describe([]byte{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0}))(t)
	require.Equal(t, "nothing", empty.For())
}

func TestDescribe_Source(t *testing.T) {
	for _, text := range []string{"__global__ void f() {}", "// .version 8.0\nint x;", "/* ü */",
		"\t#if 1\r\n#endif\x00"} {
		info := must.Get(Describe([]byte(text)))(t)
		require.Equal(t, Info{Format: Source}, info)
		require.Equal(t, "any architecture", info.For())
	}
}

func TestDescribe_BadInput(t *testing.T) {
	elf := func(change func(b []byte)) string {
		b := slices.Clone(file(t, "cuda13_sm_90a.cubin"))
		change(b)
		return string(b)
	}
	fat := func(change func(b []byte)) string {
		b := slices.Clone(file(t, "plain.fatbin"))
		change(b)
		return string(b)
	}
	le := binary.LittleEndian
	for _, c := range []struct{ image, want string }{
		{"", "the image is empty"},
		{"\x00\x00", "neither PTX"},
		{"\xff\xfe", "begin with ff fe are neither PTX, nor a cubin, nor a fatbin, nor source"},
		{"text\x01", "neither PTX"},
		{".version 8.0\n", "the text has no .target"},
		{".version 8.0\n.target x64", `.target "x64" is not an architecture`},
		{".version 8.0\n.target sm_", `is not an architecture`},
		{".version 8.0\n.target sm_90aa", `is not an architecture`},
		{".version 8.0\n.target sm_90\n.entry", "an .entry has no name"},
		{".version 8.0\n.target sm_90\n.entry (", "an .entry has no name"},
		{".version 8.0\n.target sm_90\n.entry f(.param .u64 a", "the text ends inside of the parameters of f"},
		{".version 8.0\n.target sm_90\n.entry f(.param a)", "parameter 0 of f has no type"},
		{".version 8.0\n.target sm_90\n.entry f(.param .b8 a[x])", "a parameter of f has an invalid size"},
		{".version 8.0\n.target sm_90\n.entry f([4])", "a parameter of f has an invalid size"},
		{".version 8.0\n.target sm_90\n.entry f() {", "the text ends inside of braces"},
		{".version 8.0\n.target sm_90\n}", "a closing brace has no opening brace"},
		{"\x7fELF", "less than an ELF header"},
		{elf(func(b []byte) { b[4] = 1 }), "not 64-bit"},
		{elf(func(b []byte) { b[18] = 62 }), "for machine 62, not for an NVIDIA GPU"},
		{elf(func(b []byte) { le.PutUint32(b[48:], 5) }), "name no architecture"},
		{elf(func(b []byte) { le.PutUint64(b[40:], 1<<63) }), "section headers lie outside"},
		{elf(func(b []byte) { b[58] = 63 }), "have 63 bytes"},
		{elf(func(b []byte) {})[:1000], "lie outside"},
		{fat(func(b []byte) {})[:10], "less than a fatbin header"},
		{fat(func(b []byte) { b[6] = 8 }), "its header declares 8 + "},
		{fat(func(b []byte) { le.PutUint64(b[8:], 1<<63) }), "bytes, but the image has"},
		{fat(func(b []byte) { le.PutUint64(b[8:], 20) }), "part 0: 20 bytes are left, which is less than its header"},
		{fat(func(b []byte) { le.PutUint64(b[24:], 1<<40) }), "part 0: its header declares"},
		{fat(func(b []byte) { le.PutUint32(b[20:], 8) }), "part 0: its header declares"},
		{fat(func(b []byte) { b[80+18] = 62 }), "part 0: the ELF is for machine 62"},
	} {
		_, err := Describe([]byte(c.image))
		require.ErrorContains(t, err, c.want, "%.80q", c.image)
		require.ErrorContains(t, err, "cuda image: ")
	}
}

// Describe does not panic when any byte of an image is changed, or when the image is truncated.
func TestDescribe_EveryByte(t *testing.T) {
	for _, name := range []string{"k.ptx", "cuda13_sm_90a.cubin", "plain.fatbin"} {
		good := file(t, name)
		for i := range good {
			_, _ = Describe(good[:i])
			for _, x := range []byte{1, 0x80, 0xff} {
				good[i] ^= x
				_, _ = Describe(good)
				good[i] ^= x
			}
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, name := range []string{"k.ptx", "cuda12_sm_90a.cubin", "cuda13_sm_90a.cubin", "plain.fatbin", "packed.fatbin"} {
		f.Add(file(f, name))
		f.Add(Record(file(f, name), []Kernel{{Name: "scale", Resources: &Resources{Arch: "sm_90", Registers: 8,
			Spills: &Spills{4, 4}}}}))
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		info, err := Describe(image)
		if err != nil {
			require.Empty(t, info)
			return
		}
		require.NotEmpty(t, info.For())
		total := 0
		for _, p := range info.Parts {
			require.True(t, p.Format == PTX || p.Arch != "")
			for _, k := range p.Kernels {
				if r := k.Resources; r != nil {
					require.True(t, isArch(r.Arch) && r.Registers >= 0 && r.Shared >= 0 && r.Constant >= 0 && r.Local >= 0)
				}
				require.NotEmpty(t, k.Name)
				require.LessOrEqual(t, len(k.Name), len(image))
				total += 1 + len(k.Params)
			}
		}
		require.LessOrEqual(t, total, len(image))
	})
}

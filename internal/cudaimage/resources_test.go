package cudaimage

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func kernelOf(t *testing.T, image []byte, name string) *Resources {
	t.Helper()
	info := must.Get(Describe(image))(t)
	for _, p := range info.Parts {
		for _, k := range p.Kernels {
			if k.Name == name {
				return k.Resources
			}
		}
	}
	t.Fatalf("there is no kernel %s", name)
	return nil
}

// The figures are those that ptxas -v printed when the files were made.
func TestResources_Cubin(t *testing.T) {
	for _, c := range []struct {
		file, kernel string
		want         Resources
	}{
		{"cuda12_sm_90a.cubin", "scale", Resources{Arch: "sm_90a", Registers: 8, Constant: 554, Spills: &Spills{}}},
		{"cuda13_sm_90a.cubin", "scale", Resources{Arch: "sm_90a", Registers: 8, Constant: 554, Spills: &Spills{}}},
		{"cuda13_sm_90a.cubin", "bare", Resources{Arch: "sm_90a", Registers: 4, Constant: 528, Spills: &Spills{}}},
	} {
		require.Equal(t, &c.want, kernelOf(t, file(t, c.file), c.kernel), "%s %s", c.file, c.kernel)
	}
}

// A record survives in every format, and nothing else of the description changes.
func TestRecord(t *testing.T) {
	want := []*Resources{
		{Arch: "sm_90", Registers: 128, Shared: 33792, Constant: 560, Local: 64, Spills: &Spills{8, 16}},
		{Arch: "sm_120", Registers: 255, Local: 24},
	}
	for _, name := range []string{"k.ptx", "cuda12_sm_90a.cubin", "cuda13_sm_90a.cubin"} {
		plain := must.Get(Describe(file(t, name)))(t)
		image := Record(file(t, name), []Kernel{{Name: "scale", Resources: want[0]}, {Name: "nothing", Resources: want[1]},
			{Name: "absent", Resources: want[1]}, {Name: "bare"}})
		require.True(t, strings.HasPrefix(string(image), string(file(t, name))))
		require.Equal(t, want[0], kernelOf(t, image, "scale"), name)
		require.Equal(t, want[1], kernelOf(t, append(image, 0), "nothing"), name)
		info := must.Get(Describe(image))(t)
		for i := range info.Parts[0].Kernels {
			info.Parts[0].Kernels[i].Resources = plain.Parts[0].Kernels[i].Resources
		}
		require.Equal(t, plain, info)
	}
	for _, damaged := range []string{"x", "1 shared 2 constant 3 local 4 more",
		"1 shared 99999999999 constant 3 local 4"} {
		line := "\n" + recordMark + "scale: sm_90 registers " + damaged + "\n"
		require.Nil(t, kernelOf(t, []byte(string(file(t, "k.ptx"))+line), "scale"))
	}
}

// Damaged attributes are an error, or are not read; numbers of symbols that do not exist are ignored.
func TestResources_Damaged(t *testing.T) {
	good := file(t, "cuda13_sm_90a.cubin")
	sections := must.Get(sectionsOf(good))(t)
	u := must.Get(usageOf(good, sections, "sm_90a", 90))(t)
	at := slices.IndexFunc(sections, func(s section) bool { return s.kind == sectionInfo && u.name(s) == infoSection })
	require.GreaterOrEqual(t, at, 0)
	image := slices.Clone(good)
	binary.LittleEndian.PutUint16(image[sections[at].offset+2:], 60000)
	_, err := Describe(image)
	require.ErrorContains(t, err, "an attribute has 60000 bytes, but")
	image = slices.Clone(good)
	for i := sections[at].offset; i < sections[at].offset+sections[at].size; i += 12 {
		binary.LittleEndian.PutUint32(image[i+4:], 1<<31)
	}
	require.Nil(t, kernelOf(t, image, "scale"), "no attribute is of a kernel")
}

package modulekind

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each name and each suffix selects one descriptor. CUDA source is the one exception: it is also source for a library.
func TestDescriptors_AreUnique(t *testing.T) {
	names, suffixes := map[string]bool{}, map[string]bool{}
	for _, k := range All() {
		for _, name := range []string{k.Name, k.OldName} {
			require.False(t, names[name] && name != "", name)
			names[name] = true
		}
		for _, s := range k.Suffixes() {
			require.False(t, suffixes[s] && s != "cu", "suffix %s of kind %s", s, k.Name)
			suffixes[s] = true
		}
		require.Same(t, k, Find(k.Name))
		require.False(t, len(k.Files) > 0 && !k.Loads(), "files of kind %s, which is not loaded", k.Name)
		require.False(t, k.Creator != "" && !k.Loads(), "functions make modules of kind %s, which is not loaded",
			k.Name)
	}
	require.Len(t, WithSuffix("cu"), 2)
	require.True(t, slices.IsSortedFunc(All(),
		func(a, b *Kind) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }))
}

func TestFind(t *testing.T) {
	require.Same(t, ConstLoader, Find("metadata"), "an old name")
	require.Equal(t, SymbolGraph, FormOf("dnnl_json"), "a family")
	for _, name := range []string{"", "json", "library", "CUDA", "cuda_"} {
		require.Nil(t, Find(name), name)
		require.Equal(t, Opaque, FormOf(name), name)
	}
}

func TestCodeFormat(t *testing.T) {
	for name, want := range map[string]Format{
		"cuda": {Suffix: "cu", Code: "cuda", Text: true}, "cu": {Suffix: "cu", Code: "cuda", Text: true},
		"ptx": {Suffix: "ptx", Text: true}, "cubin": {Suffix: "cubin"}, "c": {Suffix: "c"}, "": {},
	} {
		require.Equal(t, want, CodeFormat(name), name)
	}
	cuda := CodeFormat("cu")
	require.Equal(t, "cuda", cuda.Name())
}

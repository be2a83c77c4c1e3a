package cpufeatures

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFeatures_Implications(t *testing.T) {
	const linux = "x86_64-unknown-linux-gnu"
	set, known := Features(linux, "generic", []string{"+avx512f"})
	require.True(t, known)
	for _, name := range []string{"avx512f", "avx2", "avx", "fma", "f16c", "sse4.2", "sse2", "64bit-mode"} {
		require.True(t, set.Has(name), name)
	}
	set, _ = Features(linux, "skylake-avx512", []string{"-sse2"})
	for _, name := range []string{"sse2", "avx", "avx2", "avx512f", "avx512bw"} {
		require.False(t, set.Has(name), name)
	}
	require.True(t, set.Has("sse"))
	set, _ = Features(linux, "generic", []string{"+avx2", "-avx", "+fma"}) // in this order
	require.False(t, set.Has("avx2"))
	require.True(t, set.Has("avx"))
}

func TestFeatures_UnknownIsNotKnown(t *testing.T) {
	generic, known := Features("aarch64-linux-gnu", "", nil)
	require.True(t, known)
	guess, known := Features("aarch64-linux-gnu", "nosuch", nil)
	require.False(t, known)
	require.Equal(t, generic.Names(), guess.Names())
	for _, triple := range []string{"wasm32", "hexagon", "conda", "armfoo-linux", "-", "x86_64foo"} {
		set, known := Features(triple, "generic", []string{"+simd128"})
		require.False(t, known, triple)
		require.Empty(t, set.Names(), triple)
		require.False(t, set.Has("simd128"), triple)
		require.Nil(t, CPUs(triple), triple)
		require.False(t, ValidCPU(triple, "generic"), triple)
		require.Nil(t, Arm(triple, "generic", nil), triple)
	}
}

// An alias has the features of its CPU, and is not listed.
func TestCPUs_Aliases(t *testing.T) {
	const mac = "arm64-apple-macos"
	require.True(t, ValidCPU(mac, "apple-m1"))
	require.NotContains(t, CPUs(mac), "apple-m1")
	m1, known := Features(mac, "apple-m1", nil)
	require.True(t, known)
	a14, _ := Features(mac, "apple-a14", nil)
	require.Equal(t, a14.Names(), m1.Names())
}

func TestSet(t *testing.T) {
	set, _ := Features("riscv64", "", nil)
	require.True(t, slices.IsSorted(set.Names()))
	require.Equal(t, set.Len(), len(set.Names()))
	for _, name := range set.Names() {
		require.True(t, set.Has(name), name)
	}
	for _, name := range []string{"", "nosuch", "+i", "v"} {
		require.False(t, set.Has(name), name)
	}
	require.Empty(t, Set{}.Names())
	require.False(t, Set{}.Has("i"))
}

func TestHostTriple(t *testing.T) {
	parsed, err := Parse(HostTriple())
	require.NoError(t, err)
	require.NotEmpty(t, parsed.OS)
	host, _ := Features(HostTriple(), "", nil)
	empty, _ := Features("", "", nil)
	require.Equal(t, host.Names(), empty.Names())
	require.Equal(t, CPUs(HostTriple()), CPUs(""))
}

// Every table is complete: each CPU and each alias has features, and every implied feature exists.
func TestTables(t *testing.T) {
	for family := range triples {
		table, err := readTable(family)
		require.NoError(t, err)
		require.True(t, slices.IsSorted(table.features))
		require.True(t, slices.IsSortedFunc(table.cpus, func(a, b row) int { return strings.Compare(a.name, b.name) }))
		for _, c := range table.cpus {
			_, ok := table.cpu(c.name)
			require.True(t, ok, c.name)
		}
		for alias := range table.aliases {
			_, ok := table.cpu(alias)
			require.True(t, ok, alias)
		}
		for arch, features := range table.archs {
			_, _, ok := architecture("arm" + arch)
			require.True(t, ok || arch == "xscale", "%s: %s", arch, features)
		}
	}
}

func manyFeatures() string {
	var text strings.Builder
	for i := range 64*len(bitset{}) + 1 {
		fmt.Fprintf(&text, "feature f%04d\n", i)
	}
	return text.String()
}

func TestParseTable_Damaged(t *testing.T) {
	for text, message := range map[string]string{
		"feature a b\n": "feature a implies b, which does not exist",
		manyFeatures():  "385 features: the limit is 384",
	} {
		_, err := parseTable(text)
		require.ErrorContains(t, err, message)
	}
	_, err := readTable("nosuch")
	require.Error(t, err)
}

// The first use may happen in several goroutines.
func TestFeatures_Concurrent(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		for _, list := range triples {
			group.Go(func() {
				for _, cpu := range CPUs(list[0]) {
					set, known := Features(list[0], cpu, []string{"-v"})
					if !known || set.Len() == 0 && list[0][:3] == "x86" {
						t.Errorf("%s: %v", cpu, set.Names())
					}
				}
			})
		}
	}
	group.Wait()
}

func BenchmarkReadTable(b *testing.B) {
	for family := range triples {
		b.Run(family, func(b *testing.B) {
			for b.Loop() {
				if _, err := readTable(family); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFeatures(b *testing.B) {
	for b.Loop() {
		Features("x86_64-unknown-linux-gnu", "skylake-avx512", []string{"-avx512bw"})
	}
}

func BenchmarkArm(b *testing.B) {
	for b.Loop() {
		Arm("aarch64-unknown-linux-gnu", "neoverse-v1", []string{"+sve2"})
	}
}

package cpufeatures

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables/*.gz
var files embed.FS

// table describes a family of architectures. It is immutable.
type table struct {
	features []string          // sorted; the index of a feature is its bit
	implied  []bitset          // by feature: itself and all features that it implies
	cpus     []row             // sorted by name
	aliases  map[string]string // alternative names of CPUs
	archs    map[string]string // arm: the features of an architecture version in the triple
}

// row is a line of a table, which is parsed when its CPU is needed.
type row struct{ name, bits string }

// Each table is read on first use.
var (
	x86     = onUse("x86")
	aarch64 = onUse("aarch64")
	arm     = onUse("arm")
	riscv   = onUse("riscv")
)

func onUse(family string) func() *table {
	return sync.OnceValue(func() *table {
		t, err := readTable(family)
		if err != nil {
			panic(err) // the program is damaged
		}
		return t
	})
}

// tableOf returns the table with an architecture, or nil.
func tableOf(a Arch) *table {
	switch a {
	case I386, X8664:
		return x86()
	case AArch64, AArch64BE, AArch6432:
		return aarch64()
	case ARM, ARMEB, Thumb, ThumbEB:
		return arm()
	case RISCV32, RISCV64, RISCV32BE, RISCV64BE:
		return riscv()
	}
	return nil
}

func readTable(family string) (*table, error) {
	data, err := files.ReadFile("tables/" + family + ".gz")
	if err != nil {
		return nil, err
	}
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the features of %s CPUs: %w", family, err)
	}
	text, err := io.ReadAll(unzip)
	if err != nil {
		return nil, fmt.Errorf("read the features of %s CPUs: %w", family, err)
	}
	t, err := parseTable(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the features of %s CPUs: %w", family, err)
	}
	return t, nil
}

func parseTable(text string) (*table, error) {
	t := &table{aliases: map[string]string{}, archs: map[string]string{}}
	var direct []string
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, rest, _ := strings.Cut(rest, " ")
		switch kind {
		case "feature":
			t.features, direct = append(t.features, name), append(direct, rest)
		case "cpu":
			t.cpus = append(t.cpus, row{name, rest})
		case "alias":
			t.aliases[name] = rest
		case "arch":
			t.archs[name] = rest
		}
	}
	if len(t.features) > 64*len(bitset{}) {
		return nil, fmt.Errorf("%d features: the limit is %d", len(t.features), 64*len(bitset{}))
	}
	t.implied = make([]bitset, len(t.features))
	for i := range direct {
		if err := t.imply(i, direct); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// imply computes the features that feature i implies, directly or indirectly.
func (t *table) imply(i int, direct []string) error {
	if t.implied[i].has(i) {
		return nil
	}
	all := bitset{}
	all.set(i)
	t.implied[i] = all
	for name := range strings.FieldsSeq(direct[i]) {
		j, ok := t.index(name)
		if !ok {
			return fmt.Errorf("feature %s implies %s, which does not exist", t.features[i], name)
		}
		if err := t.imply(j, direct); err != nil {
			return err
		}
		all = all.or(t.implied[j])
	}
	t.implied[i] = all
	return nil
}

// index returns the bit of a feature.
func (t *table) index(name string) (int, bool) {
	i := sort.SearchStrings(t.features, name)
	return i, i < len(t.features) && t.features[i] == name
}

// find returns the line of a CPU.
func (t *table) find(name string) (row, bool) {
	if cpu := t.aliases[name]; cpu != "" {
		name = cpu
	}
	i, ok := sort.Find(len(t.cpus), func(i int) int { return strings.Compare(name, t.cpus[i].name) })
	if !ok {
		return row{}, false
	}
	return t.cpus[i], true
}

// cpu returns the features of a CPU.
func (t *table) cpu(name string) (bitset, bool) {
	found, ok := t.find(name)
	if !ok {
		return bitset{}, false
	}
	var all bitset
	hex := found.bits
	for base := 0; hex != ""; base += 64 {
		start := max(0, len(hex)-16)
		word, err := strconv.ParseUint(hex[start:], 16, 64)
		if err != nil {
			panic(fmt.Errorf("read the features of %s: %w", name, err)) // the program is damaged
		}
		hex = hex[:start]
		for i := 0; word != 0; i, word = i+1, word>>1 {
			if word&1 != 0 {
				all = all.or(t.implied[base+i])
			}
		}
	}
	return all, true
}

// apply changes one feature: "+x" adds x and all that it implies, others remove x and all that imply it.
func (t *table) apply(b bitset, attr string) bitset {
	name, on := strings.CutPrefix(attr, "+")
	if !on {
		name = strings.TrimPrefix(attr, "-")
	}
	i, ok := t.index(name)
	if !ok {
		return b
	}
	if on {
		return b.or(t.implied[i])
	}
	for j := range t.implied {
		if t.implied[j].has(i) {
			b[j/64] &^= 1 << (j % 64)
		}
	}
	return b
}

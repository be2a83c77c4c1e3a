package cpufeatures

import "math/bits"

// bitset has a bit for every feature of a table.
type bitset [6]uint64

func (b *bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b *bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

func (b bitset) or(other bitset) bitset {
	for i := range b {
		b[i] |= other[i]
	}
	return b
}

// Set is a set of features of an architecture. The zero value is the empty set.
type Set struct {
	table *table
	bits  bitset
}

// Has reports whether the feature is in the set.
func (s Set) Has(name string) bool {
	if s.table == nil {
		return false
	}
	i, ok := s.table.index(name)
	return ok && s.bits.has(i)
}

// Len returns the number of features in the set.
func (s Set) Len() int {
	n := 0
	for _, word := range s.bits {
		n += bits.OnesCount64(word)
	}
	return n
}

// Names returns the features in the set, sorted.
func (s Set) Names() []string {
	names := make([]string, 0, s.Len())
	for i, word := range s.bits {
		for ; word != 0; word &= word - 1 {
			names = append(names, s.table.features[64*i+bits.TrailingZeros64(word)])
		}
	}
	return names
}

package inspect

import (
	"debug/elf"
	"math"
	"strings"
)

// symbol is an entry of the dynamic symbol table.
type symbol struct {
	name    string // a view of the string table
	value   uint64
	section elf.SectionIndex
	bind    elf.SymBind
	kind    elf.SymType
	hidden  bool // not visible to other files
}

func (s *symbol) undefined() bool { return s.section == elf.SHN_UNDEF }

// exported reports whether a look-up by name can find the symbol in this file.
func (s *symbol) exported() bool {
	binds := s.bind == elf.STB_GLOBAL || s.bind == elf.STB_WEAK || s.bind == stbGNUUnique
	kinds := s.kind <= elf.STT_FUNC || s.kind == elf.STT_GNU_IFUNC
	return binds && kinds && s.section != elf.SHN_UNDEF && s.section != elf.SHN_ABS
}

func (s *symbol) function() bool { return s.kind == elf.STT_FUNC || s.kind == elf.STT_GNU_IFUNC }

const stbGNUUnique = elf.SymBind(10)

// dynamic is the contents of the dynamic segment.
type dynamic struct {
	symbols []symbol
	needed  []string
}

// readDynamic reads the symbols and the names of needed libraries from the dynamic segment.
func (m *image) readDynamic() (*dynamic, error) {
	tags, neededAt, err := m.dynamicTags()
	if err != nil {
		return nil, err
	}
	if tags[elf.DT_STRTAB] == 0 || tags[elf.DT_SYMTAB] == 0 {
		return nil, m.damaged("it has no table of symbols")
	}
	text, err := m.read(tags[elf.DT_STRTAB], tags[elf.DT_STRSZ], "string table")
	if err != nil {
		return nil, err
	}
	names := &nameTable{text: string(text), budget: 4*len(text) + 1<<16}
	d := &dynamic{}
	for _, at := range neededAt {
		lib, ok := names.at(at)
		if !ok {
			return nil, m.damaged("a needed library without a proper name")
		}
		d.needed = append(d.needed, lib)
	}
	count, err := m.countSymbols(tags)
	if err != nil {
		return nil, err
	}
	return d, m.readSymbols(d, tags[elf.DT_SYMTAB], count, names)
}

// dynamicTags reads the dynamic segment: the value of each tag, and all values of DT_NEEDED.
func (m *image) dynamicTags() (map[elf.DynTag]uint64, []uint64, error) {
	for _, p := range m.Progs {
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		data, err := m.read(p.Vaddr, p.Filesz, "dynamic segment")
		if err != nil {
			return nil, nil, err
		}
		tags, needed := map[elf.DynTag]uint64{}, []uint64(nil)
		for width := m.width(); len(data) >= 2*width; data = data[2*width:] {
			tag, value := elf.DynTag(m.word(data)), m.word(data[width:])
			switch tag {
			case elf.DT_NULL:
				return tags, needed, nil
			case elf.DT_NEEDED:
				needed = append(needed, value)
			case elf.DT_STRTAB, elf.DT_STRSZ, elf.DT_SYMTAB, elf.DT_HASH, elf.DT_GNU_HASH:
				tags[tag] = value
			}
		}
		return tags, needed, nil
	}
	return nil, nil, m.damaged("it has no dynamic segment, so that nothing in it can be found by name")
}

// width returns the size of an address in bytes.
func (m *image) width() int {
	if m.Class == elf.ELFCLASS64 {
		return 8
	}
	return 4
}

func (m *image) word(data []byte) uint64 {
	if m.Class == elf.ELFCLASS64 {
		return m.ByteOrder.Uint64(data)
	}
	return uint64(m.ByteOrder.Uint32(data))
}

// countSymbols reads the number of symbols from the hash tables, because it is stored nowhere else.
func (m *image) countSymbols(tags map[elf.DynTag]uint64) (uint64, error) {
	count := uint64(0)
	if at := tags[elf.DT_GNU_HASH]; at != 0 {
		n, err := m.countGNU(at)
		if err != nil {
			return 0, err
		}
		count = n
	}
	if at := tags[elf.DT_HASH]; at != 0 {
		head, err := m.read(at, 8, "hash table")
		if err != nil {
			return 0, err
		}
		count = max(count, uint64(m.ByteOrder.Uint32(head[4:])))
	}
	return count, nil
}

// countGNU finds the end of the last chain: symbols are numbered along the chains, and the last hash of each is odd.
func (m *image) countGNU(at uint64) (uint64, error) {
	head, err := m.read(at, 16, "hash table")
	if err != nil {
		return 0, err
	}
	buckets, first := uint64(m.ByteOrder.Uint32(head)), uint64(m.ByteOrder.Uint32(head[4:]))
	filter := uint64(m.ByteOrder.Uint32(head[8:])) * uint64(m.width())
	if at > math.MaxUint64-16-filter-4*buckets {
		return 0, m.damaged("a hash table of impossible size")
	}
	data, err := m.read(at+16+filter, 4*buckets, "hash table")
	if err != nil {
		return 0, err
	}
	last := uint64(0)
	for ; len(data) >= 4; data = data[4:] {
		last = max(last, uint64(m.ByteOrder.Uint32(data)))
	}
	if last == 0 {
		return first, nil // nothing is exported; imported symbols have lower numbers
	}
	if last < first {
		return 0, m.damaged("a bucket of the hash table names no symbol")
	}
	chain := at + 16 + filter + 4*buckets + 4*(last-first)
	for {
		_, available := m.segmentAt(chain)
		if data, err = m.read(chain, min(available, 4096)&^3, "hash table"); err != nil {
			return 0, err
		}
		if len(data) == 0 {
			return 0, m.damaged("a chain of the hash table has no end")
		}
		chain += uint64(len(data))
		for ; len(data) >= 4; data = data[4:] {
			last++
			if m.ByteOrder.Uint32(data)&1 != 0 {
				return last, nil
			}
		}
	}
}

func (m *image) readSymbols(d *dynamic, at, count uint64, names *nameTable) error {
	each := uint64(elf.Sym64Size)
	if m.Class == elf.ELFCLASS32 {
		each = elf.Sym32Size
	}
	data, err := m.read(at, count*each, "symbol table") // count < 2^33
	if err != nil {
		return err
	}
	d.symbols = make([]symbol, 0, count)
	for ; uint64(len(data)) >= each; data = data[each:] {
		s, info, other, ok := symbol{}, byte(0), byte(0), false
		if s.name, ok = names.at(uint64(m.ByteOrder.Uint32(data))); !ok {
			return m.damaged("symbol %d has no proper name", len(d.symbols))
		}
		if m.Class == elf.ELFCLASS64 {
			info, other, s.section, s.value = data[4], data[5], elf.SectionIndex(m.ByteOrder.Uint16(data[6:])),
				m.ByteOrder.Uint64(data[8:])
		} else {
			s.value, info, other, s.section = uint64(m.ByteOrder.Uint32(data[4:])), data[12], data[13],
				elf.SectionIndex(m.ByteOrder.Uint16(data[14:]))
		}
		s.bind, s.kind = elf.ST_BIND(info), elf.ST_TYPE(info)
		visibility := elf.ST_VISIBILITY(other)
		s.hidden = visibility == elf.STV_HIDDEN || visibility == elf.STV_INTERNAL
		d.symbols = append(d.symbols, s)
	}
	return nil
}

// nameTable returns views of a string table. Names may share their ends, so many entries of a malicious table could
// refer to one long text and expand to far more than its size. budget limits the total length of the names.
type nameTable struct {
	text   string
	budget int
}

func (t *nameTable) at(offset uint64) (string, bool) {
	if offset >= uint64(len(t.text)) {
		return "", false
	}
	text := t.text[offset:]
	if t.budget < len(text) {
		text = text[:t.budget]
	}
	end := strings.IndexByte(text, 0)
	if end < 0 {
		return "", false
	}
	t.budget -= end
	return text[:end], true
}

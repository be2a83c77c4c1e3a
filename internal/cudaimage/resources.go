package cudaimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Resources are what a kernel uses, as NVIDIA's assembler ptxas reports it. Fields are those of the JSON form, too.
type Resources struct {
	Arch      string `json:"arch"`      // that the kernel was assembled for: "sm_90"
	Registers int    `json:"registers"` // of a thread
	Shared    int    `json:"shared"`    // bytes of static shared memory of a block, without what the device reserves
	Constant  int    `json:"constant"`  // bytes of constant memory, with the arguments
	Local     int    `json:"local"`     // bytes of local memory of a thread: its arrays and its spilled registers
	// Spills are not known if only the cubin is, and it uses local memory.
	Spills *Spills `json:"spills,omitempty"`
}

// Spills are registers that a kernel stores to local memory because it has too few.
type Spills struct {
	Stores int `json:"stores"` // bytes that the instructions of a thread store
	Loads  int `json:"loads"`  // bytes that they load
}

// The parts of a cubin's section .nv.info that are read: attributes of a symbol.
const (
	infoSection    = ".nv.info"
	sectionInfo    = 0x70000000
	infoSized      = 4 // the form of an attribute with a size and data
	infoRegisters  = 0x2f
	infoFrame      = 0x11 // bytes of the stack of a function
	infoStack      = 0x12 // with the functions that it calls
	reservedFrom   = 90   // architectures whose cubins count the shared memory that the device reserves
	reservedShared = 1024
	maxSection     = 1 << 30
)

// usage collects the resources of the functions of a cubin, by their numbers in the symbol table.
type usage struct {
	names            string // of the sections
	arch             string
	number           int // of the architecture
	of               map[uint32]*Resources
	shared, constant map[string]uint64 // the sizes of sections, by the names of their kernels
}

// usageOf reads the attributes of all functions. Sections that cannot be read are an error.
func usageOf(image []byte, sections []section, arch string, number int) (*usage, error) {
	u := &usage{arch: arch, number: number, of: map[uint32]*Resources{}, shared: map[string]uint64{},
		constant: map[string]uint64{}}
	at := uint32(binary.LittleEndian.Uint16(image[62:]))
	if at >= uint32(len(sections)) {
		return u, nil // an image without names of sections
	}
	names, err := sections[at].data()
	if err != nil {
		return nil, err
	}
	u.names = string(names)
	for _, s := range sections {
		name := u.name(s)
		if kernel, found := strings.CutPrefix(name, ".nv.shared."); found {
			u.shared[kernel] = min(s.size, maxSection)
		}
		if kernel, found := strings.CutPrefix(name, ".nv.constant0."); found {
			u.constant[kernel] = min(s.size, maxSection)
		}
		if s.kind != sectionInfo || name != infoSection {
			continue
		}
		data, err := s.data()
		if err != nil {
			return nil, err
		}
		if err := u.attributes(data); err != nil {
			return nil, fmt.Errorf("section %d: %w", s.number, err)
		}
	}
	return u, nil
}

// name returns the name of a section; "" if it has none.
func (u *usage) name(s section) string {
	if uint64(s.name) >= uint64(len(u.names)) {
		return ""
	}
	rest := u.names[s.name:min(len(u.names), int(s.name)+maxName)]
	end := strings.IndexByte(rest, 0)
	return rest[:max(end, 0)]
}

// attributes reads a section .nv.info: attributes with 4 bytes each, of which some have data behind them.
func (u *usage) attributes(data []byte) error {
	le := binary.LittleEndian
	for len(data) >= 4 {
		form, attribute, size := data[0], data[1], int(le.Uint16(data[2:]))
		data = data[4:]
		if form != infoSized {
			continue
		}
		if size > len(data) {
			return fmt.Errorf("an attribute has %d bytes, but %d are left", size, len(data))
		}
		value := data[:size]
		data = data[size:]
		if size < 8 || attribute != infoRegisters && attribute != infoFrame && attribute != infoStack {
			continue
		}
		function, n := le.Uint32(value), int(le.Uint32(value[4:]))
		r := u.of[function]
		if r == nil {
			r = &Resources{Arch: u.arch}
			u.of[function] = r
		}
		if attribute == infoRegisters {
			r.Registers = n
		} else {
			r.Local = max(r.Local, n)
		}
	}
	return nil
}

// kernel returns the resources of a kernel: nil if the cubin does not name its registers. symbol is its number in the
// symbol table.
func (u *usage) kernel(symbol uint32, name string) *Resources {
	r := u.of[symbol]
	if r == nil || r.Registers == 0 {
		return nil
	}
	r.Shared, r.Constant = int(u.shared[name]), int(u.constant[name])
	if u.number >= reservedFrom {
		r.Shared = max(r.Shared-reservedShared, 0)
	}
	if r.Local == 0 {
		r.Spills = &Spills{}
	}
	return r
}

// recordMark begins each line of a record of resources.
const recordMark = "// tvmgo: kernel "

// Record returns an image with the resources of its kernels behind it, in a form that the driver and other readers of
// images ignore: comments of PTX and of source, and text behind the last part of a cubin. Describe reads it.
func Record(image []byte, kernels []Kernel) []byte {
	var b bytes.Buffer
	b.Write(image)
	b.WriteString("\n")
	for _, k := range kernels {
		r := k.Resources
		if r == nil {
			continue
		}
		fmt.Fprintf(&b, "%s%s: %s registers %d shared %d constant %d local %d", recordMark, k.Name, r.Arch, r.Registers,
			r.Shared, r.Constant, r.Local)
		if r.Spills != nil {
			fmt.Fprintf(&b, " spill stores %d loads %d", r.Spills.Stores, r.Spills.Loads)
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// The forms of a line of a record, see MatchWords.
const (
	recordLine   = recordMark + "%s: %s registers %d shared %d constant %d local %d"
	recordSpills = recordLine + " spill stores %d loads %d"
)

// recorded reads the record at the end of an image, and sets the resources of kernels that it names. Text of another
// form ends the record.
func recorded(image []byte, kernels []Kernel) {
	of := map[string]int{}
	for i, k := range kernels {
		of[k.Name] = i
	}
	rest := strings.TrimRight(string(image[max(0, len(image)-maxRecord):]), "\x00\n")
	for rest != "" {
		from := strings.LastIndexByte(rest, '\n') + 1
		var name string
		var r Resources
		var spills Spills
		fields := []any{&name, &r.Arch, &r.Registers, &r.Shared, &r.Constant, &r.Local, &spills.Stores, &spills.Loads}
		if MatchWords(rest[from:], recordSpills, fields...) {
			r.Spills = &spills
		} else if !MatchWords(rest[from:], recordLine, fields...) {
			return
		}
		if a, ok := ParseArch(r.Arch); !ok || a.Virtual {
			return
		}
		rest = strings.TrimRight(rest[:from], "\n")
		if i, known := of[name]; known {
			kernels[i].Resources = &r
		}
	}
}

// maxRecord is the size of the longest record that is read.
const maxRecord = 4 << 20

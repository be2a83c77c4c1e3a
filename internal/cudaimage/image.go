package cudaimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is a format of CUDA code. The names are those that device modules use.
type Format string

const (
	PTX    Format = "ptx"    // assembly text
	CUBIN  Format = "cubin"  // ELF for one architecture
	Fatbin Format = "fatbin" // several PTX texts and cubins
	Source Format = "cuda"   // CUDA C++
)

// Info describes an image.
type Info struct {
	Format Format
	Parts  []Part // the parts of a fatbin in its order; one part for PTX or a cubin; none for source
}

// Part is one PTX text or one cubin.
type Part struct {
	Format     Format
	Arch       string // "sm_90", "sm_90a", "sm_100f"; "" when the part names none
	PTXVersion string // "8.8"; "" for a cubin
	Compressed bool   // the contents are compressed; the kernels are not read
	Kernels    []Kernel
}

// Kernel is a function that can be launched.
type Kernel struct {
	Name   string
	Params []int // the size of each parameter in bytes; nil for a cubin, where they are not read
	// Resources are nil if they are not known: PTX and source have them if Record added them.
	Resources *Resources
}

// Describe describes an image. PTX may end with zero bytes.
func Describe(image []byte) (Info, error) {
	switch {
	case len(image) == 0:
		return Info{}, fmt.Errorf("cuda image: the image is empty")
	case bytes.HasPrefix(image, []byte("\x7fELF")):
		part, err := cubin(image)
		return one(part, err)
	case len(image) >= 4 && binary.LittleEndian.Uint32(image) == fatbinMagic:
		parts, err := fatbin(image)
		if err != nil {
			return Info{}, fmt.Errorf("cuda image: fatbin: %w", err)
		}
		return Info{Fatbin, parts}, nil
	}
	text := bytes.TrimRight(image, "\x00")
	if !isText(text) {
		return Info{}, fmt.Errorf("cuda image: %d bytes that begin with % x are neither PTX, nor a cubin, "+
			"nor a fatbin, nor source", len(image), image[:min(8, len(image))])
	}
	if isPTX(text) {
		part, err := ptx(string(text))
		recorded(text, part.Kernels)
		return one(part, err)
	}
	return Info{Format: Source}, nil
}

// one returns the description of an image that has a single part.
func one(part Part, err error) (Info, error) {
	if err != nil {
		return Info{}, fmt.Errorf("cuda image: %s: %w", part.Format, err)
	}
	return Info{part.Format, []Part{part}}, nil
}

// isText reports whether the bytes are text: UTF-8 without control characters other than white space.
func isText(b []byte) bool {
	return len(b) > 0 && utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\v\f\r", r) || r == 0x7f
	})
}

// Kernels returns the names of the kernels in all parts, sorted, without duplicates.
func (i Info) Kernels() []string {
	var list []string
	for _, p := range i.Parts {
		for _, k := range p.Kernels {
			list = append(list, k.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// For names, for error messages, the architectures that the image runs on: "sm_80, sm_86 and PTX for compute_86";
// "any architecture" for source.
func (i Info) For() string {
	if i.Format == Source {
		return "any architecture"
	}
	var list []string
	for _, p := range i.Parts {
		text := p.Arch
		if text == "" {
			text = "an unknown architecture"
		}
		if p.Format == PTX {
			text = "PTX for " + strings.Replace(text, "sm_", "compute_", 1)
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
		if len(list) == maxShown {
			list = append(list, "others")
			break
		}
	}
	switch n := len(list); n {
	case 0:
		return "nothing"
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
}

// maxShown is the maximum number of architectures that For lists; about a dozen are in use.
const maxShown = 40

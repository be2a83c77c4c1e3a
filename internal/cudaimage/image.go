package cudaimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is a form of code, named as in modules.
type Format string

const (
	PTX    Format = "ptx"    // assembly text
	CUBIN  Format = "cubin"  // ELF for one architecture
	Fatbin Format = "fatbin" // several of the two
	Source Format = "cuda"   // CUDA C++
)

// Info is what can be seen of an image.
type Info struct {
	Format Format
	Parts  []Part // of a fatbin, in its order; one for PTX and for a cubin; none for source
}

// Part is PTX or a cubin.
type Part struct {
	Format     Format
	Arch       string // "sm_90", "sm_90a", "sm_100f"; "" when the part does not say
	PTXVersion string // "8.8"; "" for a cubin
	Compressed bool   // then its kernels are not seen
	Kernels    []Kernel
}

// Kernel is a function that can be launched.
type Kernel struct {
	Name   string
	Params []int // bytes of each parameter; nil in a cubin, where they are not read
}

// Describe tells what an image is. PTX may end with zero bytes.
func Describe(image []byte) (Info, error) {
	switch {
	case len(image) == 0:
		return Info{}, fmt.Errorf("cuda image: it is empty")
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
		return Info{}, fmt.Errorf("cuda image: %d bytes that begin with % x are neither PTX, nor a cubin, a fatbin or source",
			len(image), image[:min(8, len(image))])
	}
	if isPTX(text) {
		part, err := ptx(string(text))
		return one(part, err)
	}
	return Info{Format: Source}, nil
}

func one(part Part, err error) (Info, error) {
	if err != nil {
		return Info{}, fmt.Errorf("cuda image: %s: %w", part.Format, err)
	}
	return Info{part.Format, []Part{part}}, nil
}

// isText tells text from other bytes: UTF-8 without control characters.
func isText(b []byte) bool {
	return len(b) > 0 && utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\v\f\r", r) || r == 0x7f
	})
}

// Kernels are the names in all parts, sorted, each once.
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

// For says for errors what the image runs on: "sm_80, sm_86 and PTX for compute_86"; "any architecture" for source.
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

// maxShown bounds how many architectures are listed; there are a dozen in use.
const maxShown = 40

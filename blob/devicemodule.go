package blob

import (
	"encoding/binary"
	"fmt"

	"tvmgo/internal/modulekind"
)

// DeviceModule is the payload of modules of kind cuda, opencl, and other kinds with the same format.
type DeviceModule struct {
	Format    string // "ptx", "cubin", "cuda", "cl", …
	Functions []Function
	Data      []byte // image or source, a view of the payload
	// Source is the text that Data was compiled from, in SourceFormat; "" if it is not known. Payloads do not have it.
	Source, SourceFormat string
}

// Function finds a function by its key.
func (m *DeviceModule) Function(key string) (FunctionInfo, bool) {
	return findFunction(m.Functions, key)
}

// Suffix returns the suffix of files with the code, without its dot: "cu" for the format "cuda", otherwise the format.
func (m *DeviceModule) Suffix() string {
	f := modulekind.CodeFormat(m.Format)
	return f.Suffix
}

func findFunction(list []Function, key string) (FunctionInfo, bool) {
	for i := range list {
		if list[i].Key == key {
			return list[i].FunctionInfo, true
		}
	}
	return FunctionInfo{}, false
}

// ParseDeviceModule reads the payload of an entry of a blob of the given layout. Data is a view of it.
func ParseDeviceModule(payload []byte, layout Layout) (*DeviceModule, error) {
	r := NewReader(payload)
	m := &DeviceModule{Format: r.Str("format"), Functions: r.Functions(layout), Data: r.Bytes("device code")}
	if err := r.Finish("end of the device module"); err != nil {
		return nil, err
	}
	return m, nil
}

// VulkanModule is the payload of a vulkan module.
type VulkanModule struct {
	Format    string // "vulkan"
	Functions []Function
	Shaders   []Shader
}

// Function finds a function by its key.
func (m *VulkanModule) Function(key string) (FunctionInfo, bool) {
	return findFunction(m.Functions, key)
}

// Shader finds a shader by its key.
func (m *VulkanModule) Shader(key string) (Shader, bool) {
	for _, s := range m.Shaders {
		if s.Key == key {
			return s, true
		}
	}
	return Shader{}, false
}

// Shader is the SPIR-V code of one function.
type Shader struct {
	Key  string
	Flag uint32 // [ShaderUniformScalars]
	Code []byte // little-endian 32-bit words, a view of the payload
}

// ShaderUniformScalars is set in a shader's flag if scalar arguments are in a uniform buffer instead of push constants.
const ShaderUniformScalars uint32 = 1

// Words returns a copy of the code as SPIR-V words.
func (s Shader) Words() []uint32 {
	words := make([]uint32, len(s.Code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(s.Code[4*i:])
	}
	return words
}

// ParseVulkanModule reads the payload of a vulkan entry. Since v0.24 a length precedes each shader, but nothing in the
// payload identifies the form. A modern payload is therefore read in the newer form if that matches its size exactly,
// otherwise in the older one.
func ParseVulkanModule(payload []byte, layout Layout) (*VulkanModule, error) {
	if layout != Modern {
		return parseVulkan(payload, layout, false)
	}
	m, err := parseVulkan(payload, layout, true)
	if err == nil {
		return m, nil
	}
	if older, olderErr := parseVulkan(payload, layout, false); olderErr == nil {
		return older, nil
	}
	return nil, err
}

func parseVulkan(payload []byte, layout Layout, framed bool) (*VulkanModule, error) {
	r := NewReader(payload)
	m := &VulkanModule{Format: r.Str("format"), Functions: r.Functions(layout), Shaders: r.shaders(framed)}
	if err := r.Finish("end of the vulkan module"); err != nil {
		return nil, err
	}
	return m, nil
}

// vulkanFileMagic is the first word of a `.vulkan` file.
const vulkanFileMagic = 0x02700027

// ParseVulkanFile reads the shaders from a `.vulkan` file of TVM v0.23 or older. The functions are described in the
// meta file next to it.
func ParseVulkanFile(data []byte) ([]Shader, error) {
	r := NewReader(data)
	if magic := r.U32("magic number"); r.Err() == nil && magic != vulkanFileMagic {
		r.failAt(0, "magic number", "%#x is not %#x", magic, uint32(vulkanFileMagic))
	}
	shaders := r.shaders(false)
	if err := r.Finish("end of the file"); err != nil {
		return nil, err
	}
	return shaders, nil
}

// shaders reads a table of shaders: a count, then keys and shaders. If framed, a length precedes each shader.
func (r *Reader) shaders(framed bool) []Shader {
	least := 8 + 4 + 8
	if framed {
		least += 8
	}
	list := make([]Shader, 0, r.Count(least, "shader table"))
	seen := make(map[string]bool, cap(list))
	for range cap(list) {
		at := r.Offset()
		s := Shader{Key: r.Str("shader key")}
		from := r
		if framed {
			from = r.Sub(r.U64("shader length"), "shader")
		}
		s.Flag = from.U32("shader flag")
		s.Code = from.Take(4*uint64(from.Count(4, "shader words")), "shader words")
		if framed {
			from.Finish("end of the shader")
		}
		if r.err == nil {
			r.err = from.err
		}
		if seen[s.Key] {
			r.failAt(at, "shader table", "%q occurs twice", s.Key)
		}
		if r.err != nil {
			return nil
		}
		seen[s.Key] = true
		list = append(list, s)
	}
	return list
}

// Encode returns the payload for a blob of the given layout.
func (m *DeviceModule) Encode(layout Layout) ([]byte, error) {
	w := Writer{data: make([]byte, 0, len(m.Data)+256*(1+len(m.Functions)))}
	w.Str(m.Format)
	if err := w.Functions(m.Functions, layout); err != nil {
		return nil, err
	}
	w.Bytes(m.Data)
	return w.data, nil
}

// Encode returns the payload for a blob of the given layout. In the modern layout a length precedes each shader, as
// since v0.24.
func (m *VulkanModule) Encode(layout Layout) ([]byte, error) {
	var w Writer
	w.Str(m.Format)
	if err := w.Functions(m.Functions, layout); err != nil {
		return nil, err
	}
	if err := w.shaders(m.Shaders, layout == Modern); err != nil {
		return nil, err
	}
	return w.data, nil
}

// EncodeVulkanFile returns a `.vulkan` file that [ParseVulkanFile] reads.
func EncodeVulkanFile(shaders []Shader) ([]byte, error) {
	var w Writer
	w.U32(vulkanFileMagic)
	if err := w.shaders(shaders, false); err != nil {
		return nil, err
	}
	return w.data, nil
}

func (w *Writer) shaders(list []Shader, framed bool) error {
	w.Count(len(list))
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		switch {
		case seen[s.Key]:
			return fmt.Errorf("blob: write shaders: %q occurs twice", s.Key)
		case len(s.Code)%4 != 0:
			return fmt.Errorf("blob: write shader %q: %d bytes are not a multiple of 4", s.Key, len(s.Code))
		}
		seen[s.Key] = true
		w.Str(s.Key)
		if framed {
			w.Count(4 + 8 + len(s.Code))
		}
		w.U32(s.Flag)
		w.Count(len(s.Code) / 4)
		w.Raw(s.Code)
	}
	return nil
}

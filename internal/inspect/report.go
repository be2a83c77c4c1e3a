package inspect

import (
	"encoding/json"
	"strings"

	"tvmgo/internal/cudaimage"
)

// Generation is the calling convention of a file's functions, and the naming of its symbols.
type Generation string

// The generations. A plain file has no symbols of any of the others; its functions are looked up as classic ones.
const (
	Modern  Generation = "modern"  // v0.22 and newer: safe calls, __tvm_ffi_<name>
	V21     Generation = "v0.21"   // safe calls under plain names; no other version has these
	Classic Generation = "classic" // v0.20 and older: 6-argument packed functions
	Plain   Generation = "plain"
)

// Describe describes the producers of files of this generation in a few words.
func (g Generation) Describe() string {
	switch g {
	case Modern:
		return "modern: tvm-ffi calls, as TVM v0.22 and newer export"
	case V21:
		return "v0.21: tvm-ffi calls under plain names, as only TVM v0.21 exports"
	case Classic:
		return "classic: packed functions, as TVM v0.20 and older export"
	}
	return "plain: no symbol of TVM, functions count as packed"
}

// Convention is how a function is called.
type Convention string

// The conventions: int(void*, const TVMFFIAny*, int32_t, TVMFFIAny*), the same with the objects of v0.21, and
// int(TVMValue*, int*, int, TVMValue*, int*, void*).
const (
	SafeCall    Convention = "safe_call"
	SafeCallV21 Convention = "safe_call_v0.21"
	Packed      Convention = "packed"
)

// Report is the result of an inspection. Lists are sorted, except for modules, which are in the order of the file's
// numbers. JSON keys may be added, but keep their meaning.
type Report struct {
	File           string     `json:"file"`
	Size           int64      `json:"size"` // bytes
	Architecture   string     `json:"architecture"`
	Bits           int        `json:"bits"` // 64 or 32
	ByteOrder      string     `json:"byte_order"`
	Members        []Member   `json:"members,omitempty"` // the files of an archive
	Generation     Generation `json:"generation"`
	Entry          string     `json:"entry,omitempty"` // the default function
	Functions      []Function `json:"functions"`
	ContextSlots   []string   `json:"context_slots"`   // variables that the runtime fills in when it loads the file
	RuntimeImports []string   `json:"runtime_imports"` // undefined symbols that the runtime defines
	OtherImports   []string   `json:"other_imports"`   // undefined symbols that other libraries must define
	Libraries      []string   `json:"needed_libraries"`
	Blob           *Blob      `json:"blob"`
	Loaded         bool       `json:"loaded,omitempty"` // code of the file was executed for descriptions
	Problems       []string   `json:"problems"`
}

// Function is one function that can be called by name.
type Function struct {
	Name       string     `json:"name"`
	Symbol     string     `json:"symbol"`
	Convention Convention `json:"convention"`
	Metadata   bool       `json:"metadata"` // the file has a function that returns its metadata
	Doc        bool       `json:"doc"`      // … and its documentation

	// Signature is the text that the function prints in errors, which Apache TVM stores in the constants of a library;
	// "" if there is none.
	Signature string `json:"signature,omitempty"`

	// Variants are the functions that this one calls, for the devices of its tensors; absent if it has none.
	Variants []Variant `json:"variants,omitempty"`

	// Description is what those functions returned; nil if none was executed, or none returned anything.
	Description *Description `json:"description,omitempty"`
}

// Variant is a function for one of the targets that a function was built for.
type Variant struct {
	Device   string   `json:"device"` // the type of the tensors' device: "cuda"
	Target   string   `json:"target"` // "cuda -arch=sm_90"
	Function string   `json:"function"`
	Needs    []string `json:"needs,omitempty"` // of the device: "compute capability 9.0 to 9.99"
}

// Description describes a function. It comes from code of the file, so inspect itself never fills it in.
type Description struct {
	Signature string          `json:"signature,omitempty"` // as text: "add(int, int) -> int"
	Metadata  json.RawMessage `json:"metadata,omitempty"`  // a JSON object
	Doc       string          `json:"doc,omitempty"`
}

// Blob is the part of the file that contains other modules.
type Blob struct {
	Symbol  string   `json:"symbol"`
	Layout  string   `json:"layout"`
	Size    int64    `json:"size"` // bytes, the length prefix included
	Modules []Module `json:"modules"`
}

// Module is a node of the import tree. Number 0 is the root.
type Module struct {
	Index       int      `json:"index"`
	Kind        string   `json:"kind"` // "library" is the file itself
	PayloadSize int64    `json:"payload_size"`
	Imports     []int    `json:"imports"`
	Loader      string   `json:"loader,omitempty"` // the package to import for the loader
	Device      *Device  `json:"device,omitempty"`
	Program     *Program `json:"program,omitempty"`
	Graph       *Graph   `json:"graph,omitempty"`
	Unsupported string   `json:"unsupported,omitempty"` // why this version cannot run it
}

// Device describes a module of device code.
type Device struct {
	Format    string           `json:"format"` // "ptx", "cubin", "cl", …
	CodeSize  int64            `json:"code_size"`
	Functions []DeviceFunction `json:"functions"`
}

// DeviceFunction is a kernel. In a call, its arguments come first, then an integer for each launch tag.
type DeviceFunction struct {
	Name       string   `json:"name"`
	Args       []string `json:"args"`
	LaunchTags []string `json:"launch_tags"`
	ExtraTags  []int32  `json:"arg_extra_tags,omitempty"`

	// Resources are absent if the code does not contain them.
	Resources *cudaimage.Resources `json:"resources,omitempty"`
}

func (r *Report) problem(parts ...string) { r.Problems = append(r.Problems, strings.Join(parts, "")) }

// damage is a problem because of which something could not be read.
func (c *Contents) damage(parts ...string) {
	c.problem(parts...)
	c.Damage = append(c.Damage, strings.Join(parts, ""))
}

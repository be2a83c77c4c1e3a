package dlpack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tvmgo/internal/nearest"
)

// Generation is a set of ABI generations whose own parsers accept a spelling. Package dlpack accepts all spellings.
type Generation uint8

// The two generations of the C ABI.
const (
	Classic Generation = 1 << iota // TVM v0.20 and older
	Modern                         // tvm-ffi
)

// DeviceAlias is another spelling of a device type.
type DeviceAlias struct {
	Name string
	In   Generation
}

// DeviceTypeInfo is one row of the device type table.
type DeviceTypeInfo struct {
	Type    DeviceType
	Name    string // canonical: returned by String, and used after "device_api."
	In      Generation
	Aliases []DeviceAlias
}

// builtinDeviceTypes is the only table of names for the numbers above (from DLPack and TVMDeviceExtType). The name
// sdaccel is special: type 33 prints it, but the classic parser has always read it as OpenCL, and so does this one.
var builtinDeviceTypes = []DeviceTypeInfo{
	{CPU, "cpu", Classic | Modern, classicAliases("llvm", "stackvm", "c", "test", "hybrid", "composite")},
	{CUDA, "cuda", Classic | Modern, classicAliases("nvptx")},
	{CUDAHost, "cuda_host", Classic | Modern, nil},
	{OpenCL, "opencl", Classic | Modern, classicAliases("cl", "sdaccel")},
	{Vulkan, "vulkan", Classic | Modern, nil},
	{Metal, "metal", Classic | Modern, modernAliases("mps")},
	{VPI, "vpi", Classic | Modern, nil},
	{ROCM, "rocm", Classic | Modern, nil},
	{ROCMHost, "rocm_host", Classic | Modern, nil},
	{ExtDev, "ext_dev", Classic | Modern, nil},
	{CUDAManaged, "cuda_managed", Classic | Modern, nil},
	{OneAPI, "oneapi", Classic | Modern, nil},
	{WebGPU, "webgpu", Classic | Modern, modernAliases("wgpu")},
	{Hexagon, "hexagon", Classic | Modern, nil},
	{MAIA, "maia", Modern, nil},
	{Trn, "trn", Modern, nil},
	{AOCL, "aocl", Classic, classicAliases("aocl_sw_emu")},
	{SDAccel, "sdaccel", Classic, nil},
	{OpenGL, "opengl", Classic, nil},
	{MicroDev, "microdev", Classic, nil},
}

func classicAliases(names ...string) []DeviceAlias { return aliasesIn(Classic, names) }
func modernAliases(names ...string) []DeviceAlias  { return aliasesIn(Modern, names) }

func aliasesIn(in Generation, names []string) []DeviceAlias {
	var list []DeviceAlias
	for _, name := range names {
		list = append(list, DeviceAlias{name, in})
	}
	return list
}

// deviceTable is immutable once published: a registration publishes a copy, so that readers need no lock.
type deviceTable struct {
	byNumber   map[DeviceType]*DeviceTypeInfo
	bySpelling map[string]DeviceType
}

var (
	deviceTypes        = publishBuiltins()
	deviceTypesWriting sync.Mutex
)

func publishBuiltins() *atomic.Pointer[deviceTable] {
	table := &deviceTable{map[DeviceType]*DeviceTypeInfo{}, map[string]DeviceType{}}
	for i := range builtinDeviceTypes {
		table.add(&builtinDeviceTypes[i])
	}
	var p atomic.Pointer[deviceTable]
	p.Store(table)
	return &p
}

// add adds a row. A spelling that exists already keeps its meaning (see sdaccel).
func (table *deviceTable) add(info *DeviceTypeInfo) {
	table.byNumber[info.Type] = info
	for _, spelling := range info.spellings() {
		if _, taken := table.bySpelling[spelling]; !taken {
			table.bySpelling[spelling] = info.Type
		}
	}
}

func (info *DeviceTypeInfo) spellings() []string {
	list := []string{info.Name}
	for _, alias := range info.Aliases {
		list = append(list, alias.Name)
	}
	return list
}

// RegisterDeviceType gives a name and aliases to the free number n, kDLExtDev < n < kMaxDeviceAPI. Repeating a
// registration is allowed; it is an error, which names the owner, if the number or a name is in use. It is safe for
// concurrent use.
func RegisterDeviceType(n DeviceType, name string, aliases ...string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("register device type %d %q: "+format, append([]any{int32(n), name}, args...)...)
	}
	if n <= ExtDev || n >= MaxDeviceAPI {
		return fail("the number must lie between %d and %d", int32(ExtDev)+1, int32(MaxDeviceAPI)-1)
	}
	info := &DeviceTypeInfo{Type: n, Name: name, In: Classic | Modern, Aliases: aliasesIn(Classic|Modern, aliases)}
	seen := map[string]bool{}
	for _, spelling := range info.spellings() {
		if err := checkDeviceSpelling(spelling); err != nil {
			return fail("%w", err)
		}
		if seen[spelling] {
			return fail("the spelling %q is given twice", spelling)
		}
		seen[spelling] = true
	}

	deviceTypesWriting.Lock()
	defer deviceTypesWriting.Unlock()
	old := deviceTypes.Load()
	if owner := old.byNumber[n]; owner != nil {
		if owner.Name == name && slices.Equal(owner.Aliases, info.Aliases) {
			return nil
		}
		return fail("the number belongs to %q: free ones are %s", owner.Name, old.freeNumbers())
	}
	for _, spelling := range info.spellings() {
		if owner, taken := old.bySpelling[spelling]; taken {
			return fail("the spelling %q belongs to device type %d (%s)", spelling, int32(owner), owner)
		}
	}
	table := &deviceTable{maps.Clone(old.byNumber), maps.Clone(old.bySpelling)}
	table.add(info)
	deviceTypes.Store(table)
	return nil
}

func checkDeviceSpelling(s string) error {
	if s == rpcName {
		return fmt.Errorf("%q is the name of remote devices", s)
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c == '_' && i > 0 || c >= '0' && c <= '9' && i > 0) {
			return fmt.Errorf("the spelling %q must be a lower-case letter followed by letters, digits and underscores", s)
		}
	}
	if s == "" {
		return fmt.Errorf("a spelling is empty")
	}
	return nil
}

func (table *deviceTable) freeNumbers() string {
	var free []string
	for n := ExtDev + 1; n < MaxDeviceAPI; n++ {
		if table.byNumber[n] == nil {
			free = append(free, fmt.Sprint(int32(n)))
		}
	}
	if free == nil {
		return "none"
	}
	return strings.Join(free, ", ")
}

// DeviceTypes returns the table of device types, sorted by number. The caller may change the result.
func DeviceTypes() []DeviceTypeInfo {
	table := deviceTypes.Load()
	var list []DeviceTypeInfo
	for _, n := range slices.Sorted(maps.Keys(table.byNumber)) {
		info := *table.byNumber[n]
		info.Aliases = slices.Clone(info.Aliases)
		list = append(list, info)
	}
	return list
}

func (table *deviceTable) names() []string {
	var list []string
	for _, n := range slices.Sorted(maps.Keys(table.byNumber)) {
		list = append(list, table.byNumber[n].Name)
	}
	return list
}

// nearest returns the spelling with the smallest edit distance, provided that the distance suggests a typing error: at
// most 2, and at most half of the letters.
func (table *deviceTable) nearest(name string) string {
	if len(name) > 32 {
		return ""
	}
	lower := strings.ToLower(name)
	best, bestDistance := "", 3
	for _, spelling := range slices.Sorted(maps.Keys(table.bySpelling)) {
		if d := nearest.Distance(lower, spelling, bestDistance); d < bestDistance && 2*d <= len(spelling) {
			best, bestDistance = spelling, d
		}
	}
	return best
}

package spirv

import (
	"fmt"
	"strconv"
	"strings"
)

// maxName is the maximum length of a name in bytes. An id whose name would be longer has its number as its name, so
// that the text cannot grow beyond a multiple of the module.
const maxName = 1024

// namer gives ids names that are unique: those of OpName, then names made from built-in variables, types and constants.
type namer struct {
	*grammar
	names map[id]string
	used  map[string]bool
	next  map[string]int // the next number to try after a name that is in use
}

// friendlyNames returns the names that spirv-dis gives the ids of a module.
func friendlyNames(all []*instruction, g *grammar) map[id]string {
	n := &namer{grammar: g, names: map[id]string{}, used: map[string]bool{}, next: map[string]int{}}
	for _, i := range all {
		n.visit(i)
	}
	return n.names
}

// Instructions that give names.
const (
	opTypeOpaque      = 31
	opTypeEvent       = 34
	opTypePipe        = 38
	opTypePipeStorage = 322
	opTypeBarrier     = 327

	opTypeUntypedPointer = 4417
)

// plainTypes are types without operands.
var plainTypes = map[uint32]string{OpTypeVoid: "void", OpTypeBool: "bool", opTypeEvent: "Event", 35: "DeviceEvent",
	36: "ReserveId", 37: "Queue", opTypePipeStorage: "PipeStorage", opTypeBarrier: "NamedBarrier", OpConstantTrue: "true",
	OpConstantFalse: "false"}

func (n *namer) visit(i *instruction) {
	word := func(k int) uint32 { return i.operands[k].words[0] }
	switch i.op {
	case OpName:
		n.save(word(0), textOf(i.operands[1]))
	case OpDecorate:
		if word(1) == DecorationBuiltIn {
			n.builtIn(word(0), word(2))
		}
	case OpTypeInt:
		n.save(i.result, integerName(word(1), word(2) != 0))
	case OpTypeFloat:
		n.save(i.result, n.floatName(i))
	case OpTypeVector:
		n.save(i.result, fmt.Sprintf("v%d%s", word(2), n.of(word(1))))
	case OpTypeMatrix:
		n.save(i.result, fmt.Sprintf("mat%d%s", word(2), n.of(word(1))))
	case OpTypeArray:
		n.save(i.result, "_arr_"+n.of(word(1))+"_"+n.of(word(2)))
	case OpTypeRuntimeArray:
		n.save(i.result, "_runtimearr_"+n.of(word(1)))
	case OpTypePointer:
		n.save(i.result, "_ptr_"+n.values["StorageClass"].text(word(1))+"_"+n.of(word(2)))
	case opTypeUntypedPointer:
		n.save(i.result, "_ptr_"+n.values["StorageClass"].text(word(1)))
	case opTypePipe:
		n.save(i.result, "Pipe"+n.values["AccessQualifier"].text(word(1)))
	case opTypeOpaque:
		n.save(i.result, "Opaque_"+identifier(textOf(i.operands[1])))
	case OpTypeStruct:
		n.save(i.result, fmt.Sprintf("_struct_%d", i.result))
	case OpConstant:
		value := i.operands[2].number.text(i.operands[2].words)
		n.save(i.result, n.of(i.resType)+"_"+strings.ReplaceAll(value, "-", "n"))
	default:
		if name, ok := plainTypes[i.op]; ok {
			n.save(i.result, name)
		} else if i.result != 0 {
			n.save(i.result, strconv.Itoa(int(i.result)))
		}
	}
}

// of returns the name of an id that was named before, or its number.
func (n *namer) of(of id) string {
	if name, ok := n.names[of]; ok {
		return name
	}
	return strconv.Itoa(int(of))
}

// save gives an id a name, followed by a number if another id has the name. The first name of an id stays.
func (n *namer) save(of id, name string) {
	if _, has := n.names[of]; has {
		return
	}
	if len(name) > maxName {
		name = strconv.Itoa(int(of))
	}
	base := identifier(name)
	name = base
	for n.used[name] {
		name = fmt.Sprintf("%s_%d", base, n.next[base])
		n.next[base]++
	}
	n.names[of], n.used[name] = name, true
}

// identifier replaces the bytes that are not letters, digits or underscores.
func identifier(text string) string {
	if text == "" {
		return "_"
	}
	b := []byte(text)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	return string(b)
}

func integerName(width uint32, signed bool) string {
	name, known := map[uint32]string{8: "char", 16: "short", 32: "int", 64: "long"}[width]
	switch {
	case !known && signed:
		return fmt.Sprintf("i%d", width)
	case !signed && known:
		return "u" + name
	case !signed:
		return fmt.Sprintf("u%d", width)
	}
	return name
}

// floatName returns the name of a type of floats.
func (n *namer) floatName(i *instruction) string {
	width := i.operands[1].words[0]
	if len(i.operands) > 2 {
		switch i.operands[2].words[0] {
		case 0:
			return "bfloat16"
		case 4214:
			return "fp8e4m3"
		case 4215:
			return "fp8e5m2"
		}
	}
	if name, ok := map[uint32]string{16: "half", 32: "float", 64: "double"}[width]; ok {
		return name
	}
	return fmt.Sprintf("fp%d", width)
}

// shaderBuiltIns are the built-in variables that GLSL names with gl_; otherNames has those with another spelling.
var (
	shaderBuiltIns = set("Position PointSize ClipDistance CullDistance VertexId InstanceId PrimitiveId InvocationId " +
		"Layer ViewportIndex TessLevelOuter TessLevelInner TessCoord PatchVertices FragCoord PointCoord FrontFacing " +
		"SampleId SamplePosition SampleMask FragDepth HelperInvocation NumWorkgroups WorkgroupSize WorkgroupId " +
		"LocalInvocationId GlobalInvocationId LocalInvocationIndex VertexIndex InstanceIndex BaseInstance")
	kernelBuiltIns = set("WorkDim GlobalSize EnqueuedWorkgroupSize GlobalOffset GlobalLinearId SubgroupSize " +
		"SubgroupMaxSize NumSubgroups NumEnqueuedSubgroups SubgroupId SubgroupLocalInvocationId SubgroupEqMask " +
		"SubgroupGeMask SubgroupGtMask SubgroupLeMask SubgroupLtMask")
	spellings = map[string]string{"NumWorkgroups": "NumWorkGroups", "WorkgroupSize": "WorkGroupSize",
		"WorkgroupId": "WorkGroupID"}
)

func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}

// builtIn names a built-in variable; those that are in neither list keep their numbers.
func (n *namer) builtIn(of id, which uint32) {
	r := n.values["BuiltIn"].rows[which]
	switch {
	case r == nil:
	case shaderBuiltIns[r.name]:
		name := r.name
		if s, ok := spellings[name]; ok {
			name = s
		} else if strings.HasSuffix(name, "Id") {
			name = strings.TrimSuffix(name, "Id") + "ID"
		}
		n.save(of, "gl_"+name)
	case kernelBuiltIns[r.name]:
		n.save(of, r.name)
	}
}

package opencl

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// The extensions of OpenCL by which the threads of a subgroup exchange values. A target lists those of its device.
const (
	optionExtensions  = "extensions"
	shuffles          = "cl_khr_subgroup_shuffle"
	relativeShuffles  = "cl_khr_subgroup_shuffle_relative"
	intelSubgroups    = "cl_intel_subgroups"
	intelSubgroupSize = "cl_intel_required_subgroup_size"
)

// doubles is the extension with 64-bit floats. Devices of OpenCL 3.0 that have them list it, too.
const doubles = "cl_khr_fp64"

// subgroups describes the subgroups of a target.
type subgroups struct {
	extensions []string
	size       int64 // thread_warp_size
}

func subgroupsOf(t *target.Target) subgroups {
	s := subgroups{size: 1}
	if t == nil {
		return s
	}
	s.extensions, _ = t.Attrs()[optionExtensions].([]string)
	if n, ok := t.Attrs()["thread_warp_size"].(int64); ok {
		s.size = n
	}
	return s
}

func (s subgroups) has(extension string) bool { return slices.Contains(s.extensions, extension) }

func isShuffle(call *tir.Call) bool {
	return call.Kind == tir.CallIntrinsic && strings.HasPrefix(call.Name, "warp_shuffle") && len(call.Args) == 2
}

// usesShuffles reports whether a node calls a shuffle.
func usesShuffles(node any) bool {
	return tir.Contains(node, func(n any) bool {
		call, ok := n.(*tir.Call)
		return ok && isShuffle(call)
	})
}

// verifyExtensions rejects what the target has no extension for: shuffles, and 64-bit floats if the target lists
// extensions at all.
func verifyExtensions(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	s := subgroupsOf(t)
	if len(s.extensions) > 0 && !s.has(doubles) {
		for _, f := range m.Funcs {
			if usesDouble(&tir.IRModule{Funcs: []*tir.PrimFunc{f}}) {
				return nil, fmt.Errorf("verify extensions: function %s: it has values of type float64, and the extensions of "+
					"target opencl do not include %s: cast them to float32, or add it if the device has it", f.Name, doubles)
			}
		}
	}
	if s.has(shuffles) || s.has(intelSubgroups) {
		return m, nil
	}
	for _, f := range m.Funcs {
		if usesShuffles(f) {
			return nil, fmt.Errorf("verify extensions: function %s: it calls warp_shuffle, and the extensions of target opencl "+
				"include neither %s nor %s: combine the values of threads in shared memory, or build for a device that has "+
				"one, as in {\"kind\": \"opencl\", %q: [%q], \"thread_warp_size\": 32}", f.Name, shuffles, intelSubgroups,
				optionExtensions, shuffles)
		}
	}
	return m, nil
}

// call returns the expression of a shuffle. Subgroups consist of neighbors in the order of thread indices, x first.
func (s subgroups) call(e *tir.Call, args []string) string {
	value, operand := args[0], args[1]
	if e.Type.Bits < 32 && !tir.IsFloat(e.Type) {
		value = "(int)(" + value + ")" // cl_intel_subgroups has no smaller types
	}
	var text string
	switch how := strings.TrimPrefix(e.Name, "warp_shuffle"); {
	case how == "_down" && s.has(relativeShuffles):
		text = fmt.Sprintf("sub_group_shuffle_down(%s, (uint)(%s))", value, operand)
	case how == "_down" && s.has(shuffles):
		text = fmt.Sprintf("sub_group_shuffle(%s, get_sub_group_local_id() + (uint)(%s))", value, operand)
	case how == "_down":
		text = fmt.Sprintf("intel_sub_group_shuffle_down(%s, %s, (uint)(%s))", value, value, operand)
	case s.has(shuffles):
		text = fmt.Sprintf("sub_group_shuffle%s(%s, (uint)(%s))", how, value, operand)
	default:
		text = fmt.Sprintf("intel_sub_group_shuffle%s(%s, (uint)(%s))", how, value, operand)
	}
	if tir.IsBool(e.Type) {
		return text + " != 0"
	}
	if e.Type.Bits < 32 && tir.IsInt(e.Type) {
		return "(" + types[e.Type] + ")" + text
	}
	return text
}

// pragmas returns the lines that enable the extensions of a module with shuffles.
func (s subgroups) pragmas() string {
	var b strings.Builder
	for _, x := range []string{shuffles, relativeShuffles, intelSubgroups} {
		if s.has(x) {
			fmt.Fprintf(&b, "#pragma OPENCL EXTENSION %s : enable\n", x)
		}
		if x == relativeShuffles && s.has(shuffles) {
			break // the functions of one extension are enough
		}
	}
	return b.String()
}

// Emit writes the kernels of a module for a target. It is safe for concurrent use.
func (e *Emitter) Emit(m *tir.IRModule, t *target.Target) (string, error) {
	if !usesShuffles(m) {
		return e.Emitter.Emit(m, t)
	}
	s, own := subgroupsOf(t), e.Hooks
	with := e.Emitter
	with.Hooks.Intrinsic = func(call *tir.Call, args []string) (string, error) {
		if isShuffle(call) {
			return s.call(call, args), nil
		}
		return own.Intrinsic(call, args)
	}
	with.Hooks.Head = func(m *tir.IRModule, t *target.Target) string { return own.Head(m, t) + s.pragmas() }
	with.Hooks.Declare = func(f *tir.PrimFunc, name, params string) string {
		text := own.Declare(f, name, params)
		if s.has(intelSubgroupSize) && usesShuffles(f) {
			size := fmt.Sprintf("__kernel __attribute__((intel_reqd_sub_group_size(%d)))", s.size)
			text = strings.Replace(text, "__kernel", size, 1)
		}
		return text
	}
	return with.Emit(m, t)
}

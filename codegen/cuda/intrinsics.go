package cuda

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// fullMask names all threads of a warp.
const fullMask = "0xffffffffu"

// needs lists the snippets that the expression of an intrinsic uses.
func needs(call *tir.Call) (names []string) {
	switch call.Name {
	case "async_copy", "async_commit", "async_wait":
		return []string{"async_copy"}
	case "fragment_fill", "fragment_load", "fragment_mma", "fragment_store":
		return fragmentNeeds(call)
	case "prefetch":
		return []string{"prefetch"}
	case "fma":
		if tir.Element(call.Type) == tir.Float16 {
			return []string{"float16_fma"}
		}
	case "reinterpret":
		if name, ok := class(tir.Element(call.Type)); ok {
			names = append(names, name)
		}
		if name, ok := class(tir.Element(call.Args[0].DType())); ok {
			names = append(names, name)
		}
	}
	return names
}

// intrinsic returns CUDA's expression of an intrinsic; "" if C's emitter writes it correctly.
func intrinsic(call *tir.Call, args []string) (string, error) {
	t := tir.Element(call.Type)
	switch call.Name {
	case "storage_sync":
		switch text, _ := call.Args[0].(*tir.StringImm); {
		case text != nil && text.Value == "shared":
			return "__syncthreads()", nil
		case text != nil && text.Value == "warp":
			return "__syncwarp()", nil
		}
		return "", fmt.Errorf("its scope is not one of \"shared\" and \"warp\"")
	case "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down":
		return shuffle(call, t, args), nil
	case "async_copy":
		bytes, _ := call.Args[2].(*tir.IntImm)
		if bytes == nil || bytes.Value != 4 && bytes.Value != 8 && bytes.Value != 16 {
			return "", fmt.Errorf("it copies %s bytes: want 4, 8 or 16", args[2])
		}
		return fmt.Sprintf("tvmgo_cp_async_%d(%s, %s)", bytes.Value, args[0], args[1]), nil
	case "async_commit":
		return "tvmgo_cp_async_commit()", nil
	case "async_wait":
		n, _ := call.Args[0].(*tir.IntImm)
		if n == nil || n.Value < 0 || n.Value > 64 {
			return "", fmt.Errorf("it waits until %s groups are in flight: want a constant from 0 to 64", args[0])
		}
		return fmt.Sprintf("tvmgo_cp_async_wait<%d>()", n.Value), nil
	case "fragment_fill", "fragment_load", "fragment_mma", "fragment_store":
		return fragmentCall(call, args)
	case "prefetch":
		return "tvmgo_prefetch(" + args[0] + ")", nil
	case "fma":
		if t == tir.Float16 {
			return "tvmgo_fma(" + strings.Join(args, ", ") + ")", nil
		}
	case "popcount":
		if t.Bits == 64 {
			return fmt.Sprintf("(%s)__popcll(%s)", types[t], args[0]), nil
		}
		return fmt.Sprintf("(%s)__popc(%s)", types[t], masked(t, args[0])), nil
	case "clz":
		switch {
		case t.Bits == 64:
			return fmt.Sprintf("(%s)__clzll(%s)", types[t], args[0]), nil
		case t.Bits < 32:
			return fmt.Sprintf("(%s)(__clz(%s) - %d)", types[t], masked(t, args[0]), 32-t.Bits), nil
		}
		return fmt.Sprintf("(%s)__clz(%s)", types[t], args[0]), nil
	case "rsqrt", "exp10":
		if tir.IsFloat(t) {
			return mathName(call.Name, t) + "(" + args[0] + ")", nil
		}
	case "nearbyint":
		return mathName("rint", t) + "(" + args[0] + ")", nil
	case "reinterpret":
		return reinterpret(tir.Element(call.Args[0].DType()), t, args[0]), nil
	}
	return "", nil
}

// masked returns an integer of at most 32 bits without the bits that its conversion to int adds.
func masked(t tir.Type, x string) string {
	if t.Bits < 32 {
		return fmt.Sprintf("(unsigned int)(%s)(%s)", types[tir.Type{Code: dlpack.CodeUInt, Bits: t.Bits, Lanes: 1}], x)
	}
	return x
}

// shuffle returns a value of another thread of the warp. CUDA shuffles words of 32 and 64 bits.
func shuffle(call *tir.Call, t tir.Type, args []string) string {
	name := map[string]string{"warp_shuffle": "__shfl_sync", "warp_shuffle_xor": "__shfl_xor_sync",
		"warp_shuffle_down": "__shfl_down_sync"}[call.Name]
	get := func(word string) string { return fmt.Sprintf("%s(%s, %s, %s)", name, fullMask, word, args[1]) }
	_, isClass := class(t)
	switch {
	case isClass:
		return fmt.Sprintf("%s::of_bits(%s)", types[t], get("(int)("+args[0]+").bits"))
	case tir.IsBool(t):
		return get("(int)("+args[0]+")") + " != 0"
	case t.Bits < 32:
		return fmt.Sprintf("(%s)%s", types[t], get("(int)("+args[0]+")"))
	}
	return get(args[0])
}

// reinterpret returns the bits of a value as another type.
func reinterpret(from, to tir.Type, x string) string {
	_, fromClass := class(from)
	_, toClass := class(to)
	switch {
	case from == to || from.Bits != to.Bits:
		return "" // the emitter of C reports the error
	case fromClass && toClass:
		return fmt.Sprintf("%s::of_bits((%s).bits)", types[to], x)
	case fromClass:
		return fmt.Sprintf("(%s)(%s).bits", types[to], x)
	case toClass:
		return fmt.Sprintf("%s::of_bits(%s)", types[to], x)
	}
	name := map[[2]tir.Type]string{{tir.Float32, tir.Int32}: "__float_as_int",
		{tir.Float32, tir.UInt32}: "__float_as_uint", {tir.Int32, tir.Float32}: "__int_as_float",
		{tir.UInt32, tir.Float32}: "__uint_as_float", {tir.Float64, tir.Int64}: "__double_as_longlong",
		{tir.Int64, tir.Float64}: "__longlong_as_double"}[[2]tir.Type{from, to}]
	switch {
	case name != "":
		return name + "(" + x + ")"
	case from == tir.Float64 && to == tir.UInt64:
		return "(unsigned long long)__double_as_longlong(" + x + ")"
	case from == tir.UInt64 && to == tir.Float64:
		return "__longlong_as_double((long long)(" + x + "))"
	}
	return ""
}

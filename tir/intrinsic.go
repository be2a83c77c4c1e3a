package tir

import (
	"fmt"
	"maps"
	"slices"
)

// Intrinsic describes a function that code generators implement.
type Intrinsic struct {
	Name  string
	Args  int  // the number of arguments; -1: any number
	Pure  bool // it has no effect but its value
	Takes Operands

	// Threads says that only the threads of a device can execute it:
	//
	//   - storage_sync(scope) is a barrier of a block ("shared") or of a warp ("warp").
	//   - warp_shuffle(value, lane), warp_shuffle_xor(value, mask) and warp_shuffle_down(value, delta) return the value
	//     that the thread at the given lane, at own lane ^ mask, or at own lane + delta of the warp passes. All threads of
	//     the warp execute them together. A lane beyond the warp gives an undefined value. A warp consists of
	//     thread_warp_size (of the target) threads of a block with consecutive linear indices, threadIdx.x fastest.
	//   - async_copy(destination, source, bytes) starts a copy from global to shared memory. async_commit() closes a
	//     group of copies, and async_wait(n) waits until at most n groups that the thread closed are in flight. Other
	//     threads see the copies after a barrier that follows.
	//   - fragment_fill(f, m, n, k, value), fragment_load(f, m, n, k, memory, stride, layout), fragment_mma(sums, m, n,
	//     k, a, b) and fragment_store(f, m, n, k, memory, stride, layout) are executed by all threads of a warp together,
	//     with the same arguments. They compute sums += a·b of an m x k and a k x n matrix, whose elements the threads
	//     hold together: see [ScopeFragmentA] and [FragmentCall]. f, sums, a and b are the address_of the first element
	//     of a fragment; memory is the address_of the first element of a matrix; layout is [RowMajor] or [ColMajor].
	//     Operands of float16, bfloat16, int8 and uint8 are multiplied exactly. fragment_load rounds those of float32 to
	//     TensorFloat-32: 10 bits of fraction, to nearest, ties away from zero. Sums of float32 and float16 are rounded
	//     at least once per product, in an order and with a precision that depend on the device; those of int32 wrap
	//     around. Shapes and types that a device has depend on it. Other threads see what fragment_store writes, and the
	//     warp overwrites what fragment_load reads, after a barrier.
	//   - texture2d_load(image, column, row) returns a pixel of four channels, and texture2d_store(image, column, row,
	//     pixel) writes one. A pass of the language makes them of accesses to buffers in scopes of textures.
	Threads bool
}

// Operands is the class of operands that an intrinsic takes.
type Operands uint8

// The classes of operands.
const (
	TakesFloats Operands = iota // floats, and it returns one of their type
	TakesInts                   // integers, and it returns one of their type
	TakesAny                    // depends on the intrinsic
)

var intrinsics = func() map[string]*Intrinsic {
	all := map[string]*Intrinsic{}
	add := func(takes Operands, args int, pure bool, names ...string) {
		for _, n := range names {
			all[n] = &Intrinsic{Name: n, Args: args, Pure: pure, Takes: takes}
		}
	}
	add(TakesFloats, 1, true, "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
		"tan", "asin", "acos", "atan", "sinh",
		"cosh", "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "trunc", "round", "nearbyint", "sigmoid", "fabs")
	add(TakesFloats, 2, true, "pow", "fmod", "atan2", "hypot", "copysign")
	add(TakesFloats, 3, true, "fma")
	add(TakesInts, 2, true, "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
	add(TakesInts, 2, true, "dot4") // of the bytes of int32: see DotOfBytes
	add(TakesInts, 1, true, "bitwise_not", "popcount", "clz", "abs")
	add(TakesAny, 1, true, "isnan", "isinf", "isfinite", "likely", "reinterpret")
	add(TakesAny, 3, true, "if_then_else") // only the selected branch is evaluated
	add(TakesAny, -1, false, "storage_sync", "prefetch", "tvm_struct_get", "tvm_struct_set", "address_of", "check_index",
		"report_index",
		"clear_reports", "check_reports")
	add(TakesAny, 2, false, "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down")
	add(TakesAny, 3, false, "async_copy")
	add(TakesAny, 0, false, "async_commit")
	add(TakesAny, 3, false, "texture2d_load")
	add(TakesAny, 4, false, "texture2d_store")
	add(TakesAny, 1, false, "async_wait")
	add(TakesAny, 5, false, "fragment_fill")
	add(TakesAny, 7, false, "fragment_load", "fragment_store")
	add(TakesAny, 6, false, "fragment_mma")
	add(TakesAny, 0, false, "ret_none")
	add(TakesAny, 1, false, "ret")
	for _, n := range []string{"storage_sync", "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down", "async_copy",
		"async_commit", "async_wait", "texture2d_load", "texture2d_store", "fragment_fill", "fragment_load", "fragment_mma",
		"fragment_store"} {
		all[n].Threads = true
	}
	return all
}()

// Intrinsics returns all intrinsics, sorted by name.
func Intrinsics() []Intrinsic {
	list := make([]Intrinsic, 0, len(intrinsics))
	for _, n := range slices.Sorted(maps.Keys(intrinsics)) {
		list = append(list, *intrinsics[n])
	}
	return list
}

// LookupIntrinsic returns the intrinsic with the given name; the result is false if there is none.
func LookupIntrinsic(name string) (Intrinsic, bool) {
	i := intrinsics[name]
	if i == nil {
		return Intrinsic{}, false
	}
	return *i, true
}

// check returns an error if a call is wrong in itself, whatever the module contains.
func (c *Call) check() error {
	types := make([]Type, len(c.Args))
	for n, a := range c.Args {
		if IsNil(a) {
			return fmt.Errorf("%s %s: argument %d is nil", c.what(), c.Name, n)
		}
		if _, isText := a.(*StringImm); isText && !takesText(c) {
			return fmt.Errorf("%s %s: argument %d is text", c.what(), c.Name, n)
		}
		types[n] = a.DType()
	}
	return c.checkTypes(types)
}

func (c *Call) what() string {
	if c.Kind == CallIntrinsic {
		return "intrinsic"
	}
	return "call of"
}

// checkTypes returns an error if a call with arguments of the given types is wrong.
func (c *Call) checkTypes(types []Type) error {
	if c.Name == "" {
		return fmt.Errorf("a call has no name")
	}
	for n, t := range types {
		if t == Void {
			return fmt.Errorf("%s %s: argument %d is of type void and has no value", c.what(), c.Name, n)
		}
	}
	if c.Kind != CallIntrinsic {
		return nil
	}
	i := intrinsics[c.Name]
	switch {
	case i == nil:
		return fmt.Errorf("there is no intrinsic %q: want one of %v", c.Name, slices.Sorted(maps.Keys(intrinsics)))
	case i.Args >= 0 && len(types) != i.Args:
		return fmt.Errorf("intrinsic %s takes %d arguments, found %d", c.Name, i.Args, len(types))
	}
	for n, t := range types {
		switch {
		case i.Takes == TakesAny:
		case t != c.Type:
			return fmt.Errorf("intrinsic %s of type %s: argument %d is of type %s", c.Name, TypeName(c.Type), n, t)
		case i.Takes == TakesFloats && !IsFloat(t):
			return fmt.Errorf("intrinsic %s takes floats, found %s", c.Name, t)
		case i.Takes == TakesInts && !IsInt(t):
			return fmt.Errorf("intrinsic %s takes integers, found %s", c.Name, t)
		}
	}
	switch c.Name {
	case "if_then_else":
		if !IsBool(types[0]) || types[1] != c.Type || types[2] != c.Type {
			return fmt.Errorf("intrinsic if_then_else takes a bool and two values of type %s", TypeName(c.Type))
		}
		if types[0].Lanes != 1 && types[0].Lanes != c.Type.Lanes {
			return fmt.Errorf("intrinsic if_then_else: %d truth values for %d lanes", types[0].Lanes, c.Type.Lanes)
		}
	case "isnan", "isinf", "isfinite":
		if t := types[0]; !IsFloat(t) || c.Type != Vector(Bool, int(t.Lanes)) {
			return fmt.Errorf("intrinsic %s takes floats and returns as many truth values: found %s and %s", c.Name, t,
				TypeName(c.Type))
		}
	case "likely":
		if !IsBool(c.Type) || types[0] != c.Type {
			return fmt.Errorf("intrinsic likely takes and returns truth values: found %s and %s", types[0], TypeName(c.Type))
		}
	case "reinterpret":
		if t := types[0]; int(t.Bits)*int(t.Lanes) != int(c.Type.Bits)*int(c.Type.Lanes) {
			return fmt.Errorf("intrinsic reinterpret of %s as %s: the sizes differ", t, TypeName(c.Type))
		}
	case "dot4":
		if Element(c.Type) != Int32 {
			return fmt.Errorf("intrinsic dot4 takes and returns int32: found %s", TypeName(c.Type))
		}
	case "check_index": // an index, the size, the buffer's name, and the dimension
		if len(types) != 4 || types[0] != c.Type || !IsInt(c.Type) || !IsInt(types[1]) || types[1].Lanes != 1 {
			return fmt.Errorf("intrinsic check_index takes an index of type %s, a size, the name of a buffer, and a dimension",
				TypeName(c.Type))
		}
	case "report_index": // the record, the number of the access, the index, and the size
		if c.Type != Bool || !slices.Equal(types, []Type{Handle, Int32, Int64, Int64}) {
			return fmt.Errorf("intrinsic report_index takes an address, an int32, and two int64, and gives a bool: found %v "+
				"and %s", types, TypeName(c.Type))
		}
	case "clear_reports", "check_reports": // the record, then a name and a dimension for each access
		if c.Type != Void || len(types) == 0 || types[0] != Handle {
			return fmt.Errorf("intrinsic %s takes an address and returns nothing", c.Name)
		}
	case "ret":
		if c.Type != Void && c.Type != types[0] {
			return fmt.Errorf("intrinsic ret of type %s: argument 0 is of type %s", c.Type, types[0])
		}
	case "ret_none":
		if c.Type != Void {
			return fmt.Errorf("intrinsic ret_none of type %s: want void", c.Type)
		}
	default:
		return c.checkThreads(types)
	}
	return nil
}

// checkThreads returns an error if a call of an intrinsic that only threads of a device execute is wrong.
func (c *Call) checkThreads(types []Type) error {
	switch c.Name {
	case "fragment_fill", "fragment_load", "fragment_mma", "fragment_store":
		_, err := DescribeFragmentCall(c)
		return err
	case "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down": // a value, and a lane, mask or distance
		if types[0] != c.Type || c.Type.Lanes != 1 || IsHandle(c.Type) || types[1] != Int32 {
			return fmt.Errorf("intrinsic %s takes a value of its own type %s and an int32, and moves one lane: found %v",
				c.Name, TypeName(c.Type), types)
		}
	case "async_copy": // addresses of the destination and the source, and a number of bytes
		n, constant := c.Args[2].(*IntImm)
		if c.Type != Void || types[0] != Handle || types[1] != Handle || !constant ||
			n.Value != 4 && n.Value != 8 && n.Value != 16 {
			return fmt.Errorf("intrinsic async_copy takes two addresses and 4, 8 or 16 bytes as a constant, and returns "+
				"nothing: found %v and %s", types, TypeName(c.Type))
		}
	case "texture2d_load", "texture2d_store": // an image and a position, then the pixel that is stored
		pixel, stored := c.Type, 3
		if c.Name == "texture2d_store" {
			pixel, stored = types[3], 4
		}
		if !slices.Equal(types[:3], []Type{Handle, Int32, Int32}) || pixel.Lanes != 4 || stored == 4 && c.Type != Void {
			return fmt.Errorf("intrinsic %s takes an address, two int32 and pixels of four lanes: found %v and %s", c.Name,
				types, TypeName(c.Type))
		}
	case "async_commit":
		if c.Type != Void {
			return fmt.Errorf("intrinsic async_commit of type %s: want void", c.Type)
		}
	case "async_wait": // how many groups of copies may still be in flight
		n, constant := c.Args[0].(*IntImm)
		if c.Type != Void || !constant || n.Value < 0 {
			return fmt.Errorf("intrinsic async_wait takes a constant number of groups, and returns nothing: found %v and %s",
				types, TypeName(c.Type))
		}
	}
	return nil
}

// Intrin returns a call of an intrinsic whose operands and result have the same type: Intrin("exp", x).
func Intrin(name string, args ...Expr) Expr {
	if e := firstBad("intrinsic "+name, args...); e != nil {
		return e
	}
	if len(args) == 0 {
		return NewCall(CallIntrinsic, Void, name)
	}
	return NewCall(CallIntrinsic, IntrinsicType(name, args[len(args)-1].DType()), name, args...)
}

// DotOfBytes is the intrinsic dot4 of two int32: the sum of the products of the bytes of a, which are unsigned, and of
// b, which are signed. No sum overflows. Compilers add it to an int32 by one instruction on CPUs that have it.
func DotOfBytes(a, b int32) int32 {
	sum := int32(0)
	for shift := 0; shift < 32; shift += 8 {
		sum += int32(uint8(a>>shift)) * int32(int8(b>>shift))
	}
	return sum
}

// IntrinsicType returns the type of the call that [Intrin] makes if the last argument is of the given type.
func IntrinsicType(name string, last Type) Type {
	switch name {
	case "isnan", "isinf", "isfinite":
		return Vector(Bool, int(last.Lanes))
	}
	return last
}

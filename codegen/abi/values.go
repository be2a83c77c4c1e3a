package abi

// Value is how an argument or a result is passed: its type index and its field of the union.
type Value struct{ Index, Field string }

// Values are the values of a calling convention.
type Values struct{ Int, Bool, Float, Pointer, Tensor, Text Value }

// ValuesOf returns the values of the tvm-ffi convention, or of the classic one.
func ValuesOf(classic bool) *Values {
	if classic {
		return &classicValues
	}
	return &modernValues
}

var modernValues = Values{
	Int: Value{"kTVMFFIInt", "v_int64"}, Bool: Value{"kTVMFFIBool", "v_int64"}, Float: Value{"kTVMFFIFloat", "v_float64"},
	Pointer: Value{"kTVMFFIOpaquePtr", "v_ptr"}, Tensor: Value{"kTVMFFIDLTensorPtr", "v_ptr"},
	Text: Value{"kTVMFFIRawStr", "v_c_str"},
}

var classicValues = Values{
	Int: Value{"kTVMArgInt", "v_int64"}, Bool: Value{"kTVMArgInt", "v_int64"}, Float: Value{"kTVMArgFloat", "v_float64"},
	Pointer: Value{"kTVMOpaqueHandle", "v_handle"}, Tensor: Value{"kTVMDLTensorHandle", "v_handle"},
	Text: Value{"kTVMStr", "v_str"},
}

package oip

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

func TestDatatype_Names(t *testing.T) {
	for name, dtype := range map[string]dlpack.DataType{
		"BOOL": dlpack.Bool, "UINT8": dlpack.UInt8, "UINT16": dlpack.UInt16, "UINT32": dlpack.UInt32,
		"UINT64": dlpack.UInt64, "INT8": dlpack.Int8, "INT16": dlpack.Int16, "INT32": dlpack.Int32,
		"INT64": dlpack.Int64, "FP16": dlpack.Float16, "FP32": dlpack.Float32, "FP64": dlpack.Float64,
		"BF16": dlpack.BFloat16,
	} {
		got, err := ParseDatatype(name)
		require.NoError(t, err)
		require.Equal(t, dtype, got)
		back, ok := DatatypeName(dtype)
		require.True(t, ok)
		require.Equal(t, name, back)
	}
	name, ok := DatatypeName(dlpack.ClassicBool)
	require.True(t, ok)
	require.Equal(t, "BOOL", name)
	for _, dtype := range []dlpack.DataType{{}, dlpack.Void, dlpack.Handle, dlpack.Float8E5M2,
		{Code: dlpack.CodeFloat, Bits: 32, Lanes: 4}} {
		_, ok := DatatypeName(dtype)
		require.False(t, ok, dtype)
	}
}

func TestParseDatatype_Errors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		code       Code
	}{
		{"BYTES", "tensors of strings are not supported", Unimplemented},
		{"FP33", `datatype "FP33" is unknown: do you mean FP32?`, InvalidArgument},
		{"fp32", "do you mean FP32?", InvalidArgument},
		{"", "use one of FP32, INT64, INT32, ", InvalidArgument},
		{"complex numbers", "use one of FP32", InvalidArgument},
	} {
		_, err := ParseDatatype(c.name)
		var e *Error
		require.True(t, errors.As(err, &e), c.name)
		require.Equal(t, c.code, e.Code, c.name)
		require.ErrorContains(t, err, c.want)
	}
}

func TestHTTPStatus(t *testing.T) {
	for code, status := range map[Code]int{
		Internal: 500, InvalidArgument: 400, Unauthenticated: 401, PermissionDenied: 403, NotFound: 404, TooLarge: 413,
		MethodNotAllowed:  405,
		ResourceExhausted: 429, Canceled: 499, Unimplemented: 501, Unavailable: 503, DeadlineExceeded: 504,
		DeadlineExceeded + 1: 500, -1: 500,
	} {
		require.Equal(t, status, code.HTTPStatus(), code)
	}
}

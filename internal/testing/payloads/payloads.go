// Package payloads makes a module of each known kind in its form in a blob, for tests that must cover every kind.
package payloads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/modulekind"
)

// Functions are the functions of modules that have kernels.
var Functions = []blob.Function{{Key: "k", FunctionInfo: blob.FunctionInfo{Name: "k",
	ArgTypes: []dlpack.DataType{dlpack.Int32}, LaunchParamTags: []string{"blockIdx.x"}}}}

// Every returns an entry for each kind that a blob of a layout can carry, by name.
func Every(t testing.TB, layout blob.Layout) []blob.Entry {
	var list []blob.Entry
	for _, k := range modulekind.All() {
		if k.Form == modulekind.Opaque && layout != blob.Modern {
			continue // its end is not known
		}
		name := k.Name
		if k.Family {
			name = "x" + name
		}
		list = append(list, blob.Entry{Kind: name, Payload: payload(t, k, layout)})
	}
	return list
}

// payload makes a payload of a kind.
func payload(t testing.TB, k *modulekind.Kind, layout blob.Layout) []byte {
	var w blob.Writer
	made := func(data []byte, err error) []byte {
		t.Helper()
		require.NoError(t, err, k.Name)
		return data
	}
	switch k.Form {
	case modulekind.Opaque:
		w.Raw([]byte("of " + k.Name))
	case modulekind.Device:
		format := "ptx"
		if len(k.Files) > 0 {
			format = k.Files[0].Name()
		}
		return made((&blob.DeviceModule{Format: format, Functions: Functions,
			Data: []byte("// " + k.Name)}).Encode(layout))
	case modulekind.Shaders:
		return made((&blob.VulkanModule{Format: k.Name, Functions: Functions,
			Shaders: []blob.Shader{{Key: "k", Flag: blob.ShaderUniformScalars,
				Code: []byte("\x03\x02\x23\x07word")}}}).Encode(layout))
	case modulekind.Source:
		return (&blob.CSource{Code: "int f;", Format: "cc", Functions: []string{"f"},
			Constants: []string{"w"}}).Encode()
	case modulekind.Object:
		return (&blob.StaticLibrary{Object: []byte("object"), Functions: []string{"g"}}).Encode()
	case modulekind.Constants:
		return made((&blob.Constants{Names: []string{"w", "b"},
			Tensors: []blob.Tensor{{DType: dlpack.Float32, Shape: []int64{2},
				Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}},
				{DType: dlpack.Int8, Shape: []int64{1, 3}, Data: []byte{1, 2, 3}}},
			Symbols: []blob.SymbolConstants{{Symbol: "f", Names: []string{"b", "w"}}}}).Encode())
	case modulekind.Metal:
		w.Str("0.2.0") // version, then no source and no function
		w.Count(0)
		w.Count(0)
		w.Str("metal")
	case modulekind.GraphText:
		w.Str(`{"nodes":[{"op":"null","name":"p","inputs":[]}],"arg_nodes":[0],"heads":[[0,0,0]],"node_row_ptr":[0,1],` +
			`"attrs":{"dltype":["list_str",["int8"]],"storage_id":["list_int",[0]],"shape":["list_shape",[[1]]]}}`)
		w.Count(1)
		w.Strs([]string{"p"})
		require.NoError(t, w.Tensor(blob.Tensor{DType: dlpack.Int8, Shape: []int64{1}, Data: []byte{1}}))
		w.Str("default")
	case modulekind.Program:
		return made((&vmcode.Executable{Code: []vmcode.Instruction{{Op: vmcode.Ret}},
			Functions: []vmcode.Function{{Kind: vmcode.Bytecode, Name: "main", End: 1, Arity: 1, Registers: 1,
				Parameters: []string{"x"}}}}).EncodePayload(layout))
	case modulekind.SymbolGraph:
		w.Str("symbol")
		w.Str("{}")
		w.Strs(nil)
	default:
		t.Fatalf("kind %s: no payload of form %d is made here: add one", k.Name, k.Form)
	}
	return w.Data()
}

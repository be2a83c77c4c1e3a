package main

import (
	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
)

// weightBytes is the size of the weights of the model that buildWeights makes.
const weightBytes = 256 << 20

// buildWeights makes a library with an executable whose constants are its weights, as Apache TVM lays them out: their
// elements begin at any byte. Its function main calls bench.weights with all of them.
func buildWeights(out string, total int) error {
	const count = 8
	columns := 1024
	e := &vmcode.Executable{}
	call := vmcode.Instruction{Op: vmcode.Call, Dst: 0, Callee: 1}
	data := make([]byte, total/count)
	for i := range data {
		data[i] = byte(i * 2654435761 >> 13)
	}
	add := func(shape []int64, data []byte) {
		call.Args = append(call.Args, vmcode.Operand{Kind: vmcode.InConstant, Value: int64(len(e.Constants))})
		e.Constants = append(e.Constants, vmcode.Constant{Tensor: blob.Tensor{DType: dlpack.Float32, Shape: shape,
			Data: data}})
	}
	for range count { // a matrix and a bias
		add([]int64{int64(len(data) / 4 / columns), int64(columns)}, data)
		add([]int64{int64(columns)}, data[:4*columns])
	}
	e.Code = []vmcode.Instruction{call, {Op: vmcode.Ret, Source: 0}}
	e.Functions = []vmcode.Function{{Kind: vmcode.Bytecode, Name: "main", End: 2, Registers: 1},
		{Kind: vmcode.Packed, Name: "bench.weights"}}
	payload, err := e.EncodePayload(blob.Modern)
	if err != nil {
		return err
	}
	return buildBlob(out, text(text(nil, "relax.VMExecutable"), string(payload)), itself)
}

package inspect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// An executable that no machine can run is a problem that names the instruction; the rest of the report stays.
func TestRead_DamagedExecutable(t *testing.T) {
	data := load(t, "modern/relax_mlp.so")
	words := bytes.Index(data, []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01"))
	require.Positive(t, words) // call, %5, function 1
	at := func(offset int, value byte) *Report {
		changed := bytes.Clone(data)
		changed[words+offset] = value
		return must.Get(inspectBytes("x.so", changed))(t)
	}
	for _, c := range []struct {
		report *Report
		want   string
	}{
		{at(8, 31), `module relax.VMExecutable: read Relax executable: function "forward", instruction 0 ` +
			`(call vm.builtin.alloc_shape_heap): its destination: there is no register 31: a frame has 31: the file is ` +
			`damaged: copy it or compile the model again`},
		{at(16, 17), `function "forward", instruction 0 (call): it calls function 17 of 17`},
		{at(0, 9), `function "forward", instruction 0: unknown operation 9`},
	} {
		require.Len(t, c.report.Problems, 1)
		require.Contains(t, c.report.Problems[0], c.want)
		require.Nil(t, c.report.Blob.Modules[0].Program)
		require.Len(t, c.report.Functions, 9)
		var text strings.Builder
		require.NoError(t, c.report.WriteText(&text))
		require.Contains(t, text.String(), "PROBLEM")
	}
}

func TestWriteText_Program(t *testing.T) {
	bytes := func(n int64) *int64 { return &n }
	p := &printer{}
	p.program("", &Program{Functions: []ProgramFunction{
		{Name: "a\x1bb", Arity: 4, Instructions: 3,
			Parameters: []Parameter{{Index: 0, Value: Value{Name: "x"}}, {Index: 1, Value: Value{Type: "R.Object"}},
				{Index: 2, Value: Value{Name: "\n"}, Use: &Use{"add", "Tensor([], int8)"}}},
			Result: Value{Type: "R.Shape([n])"}, Registers: 9, Code: []string{"ret   %8"},
			Storages: []Storage{
				{Instruction: 1, Bytes: bytes(64), Device: 1, Scope: "global.texture", Tensors: 2},
				{Instruction: 2, Device: -1, Scope: "global"}}},
		{Name: "c", Compiled: true, Arity: 900, Registers: 5},
	}, Constants: ProgramConstants{Count: 3, Tensors: 1, Bytes: 40, List: []string{"dtype int8"}},
		Calls: []string{"k", "vm.builtin.copy"}})
	require.Equal(t, strings.Join([]string{
		`      "a\x1bb"(x, %1, "\n", %3): 3 instructions, 9 registers`,
		`        %1: R.Object`,
		`        "\n": not checked; add takes Tensor([], int8)`,
		`        result: R.Shape([n])`,
		`        storage of instruction 1: 64 bytes on device 1 global.texture, tensors: 2`,
		`        storage of instruction 2: size depends on shapes on the host, tensors: 0`,
		`        memory: 2 storages, 64 bytes and 1 whose size depends on shapes`,
		`           0  ret   %8`,
		`      c(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, … %899): compiled, 5 registers`,
		`      constants: 3, with 40 bytes in 1 tensors`,
		`        c[0] dtype int8`,
		`      calls: k, vm.builtin.copy`, ""}, "\n"), p.text.String())
}

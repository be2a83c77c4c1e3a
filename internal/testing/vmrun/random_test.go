package vmrun

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/internal/testing/testseed"
)

// The programs of a seed use every instruction, every kind of operand, every builtin and every function for tests.
// They fail in some cases, and most of what they do is defined.
func TestRandom_CoversTheMachine(t *testing.T) {
	seed := testseed.Of(t)
	missing := map[string]bool{"closure": true, "bytecode call": true, "void": true, "context": true, "immediate": true,
		"constant": true, "backwards": true, "if": true, "too deep": true, "dropped": true, "negative": true}
	for name := range builtins {
		missing[name] = true
	}
	for name := range TestFunctions {
		missing[name] = true
	}
	programs, failed, undefined := 400, 0, 0
	for i := range programs {
		p := Random(rand.New(rand.NewPCG(seed, uint64(i))))
		require.NoError(t, p.Exec.Check())
		out := p.Run()
		if out.Undefined != "" || out.Otherwise != "" {
			undefined++
		}
		if out.Err != nil {
			failed++
		}
		if errors.Is(out.Err, ErrDepth) {
			delete(missing, "too deep")
		}
		for _, in := range p.Exec.Code {
			cover(p.Exec, in, missing)
		}
	}
	require.Empty(t, missing)
	t.Logf("%d programs: %d fail, %d do what TVM does not", programs, failed, undefined)
	require.Greater(t, failed, programs/8)
	require.Less(t, failed, programs/2)
	require.Less(t, undefined, programs/2)
}

func cover(exec *vmcode.Executable, in vmcode.Instruction, missing map[string]bool) {
	switch in.Op {
	case vmcode.Goto:
		if in.Jump < 0 {
			delete(missing, "backwards")
		}
	case vmcode.If:
		delete(missing, "if")
	case vmcode.Call:
		if f := exec.Functions[in.Callee]; f.Kind == vmcode.Bytecode {
			delete(missing, "bytecode call")
		} else {
			delete(missing, f.Name)
		}
		if in.Dst == vmcode.Void {
			delete(missing, "dropped")
		}
	}
	for _, a := range in.Args {
		switch {
		case a.Kind == vmcode.OfFunction && exec.Functions[a.Value].Kind == vmcode.Bytecode:
			delete(missing, "closure")
		case a.Kind == vmcode.Immediate && a.Value < 0:
			delete(missing, "negative")
		case a.Kind == vmcode.Immediate:
			delete(missing, "immediate")
		case a.Kind == vmcode.InConstant:
			delete(missing, "constant")
		case vmcode.Register(a.Value) == vmcode.Void:
			delete(missing, "void")
		case vmcode.Register(a.Value) == vmcode.Context:
			delete(missing, "context")
		}
	}
}

// A seed gives the same programs, and a program the same outcome each time.
func TestRandom_IsDeterministic(t *testing.T) {
	for i := range uint64(50) {
		a, b := Random(rand.New(rand.NewPCG(7, i))), Random(rand.New(rand.NewPCG(7, i)))
		require.Equal(t, a, b)
		require.Empty(t, a.Run().Difference(a.Run()))
	}
}

// Shrinking finds the one instruction that makes a program fail, and leaves the original alone.
func TestShrink_KeepsWhatFails(t *testing.T) {
	exec := &vmcode.Executable{Functions: []vmcode.Function{
		{Kind: vmcode.Packed, Name: "vm.builtin.copy"}, {Kind: vmcode.Packed, Name: "vmrun.fail"},
		{Kind: vmcode.Bytecode, Name: "main", End: 40, Registers: 3},
	}}
	for i := range 39 {
		exec.Code = append(exec.Code, vmcode.Instruction{Op: vmcode.Call, Dst: 1, Args: []vmcode.Operand{
			{Kind: vmcode.Immediate, Value: int64(i)}}})
	}
	exec.Code[23].Callee = 1
	exec.Code = append(exec.Code, vmcode.Instruction{Op: vmcode.Ret, Source: 1})
	p := &Program{Exec: exec}
	small := p.Shrink(func(p *Program) bool { return p.Run().Err != nil })
	require.Equal(t, "main(0 parameters, 1 registers):\n"+
		"   23  call  vmrun.fail       in: i23          dst: %0\n   39  ret   %0\n", small.Text())
	require.Equal(t, 0, p.Exec.Code[22].Callee)
	require.Equal(t, vmcode.Call, p.Exec.Code[22].Op)
}

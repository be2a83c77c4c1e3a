package vm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/internal/testing/wheelmodels"
	"tvmgo/runtime"
)

// step is a call as testdata/steps.py describes it: module, function, arguments.
type step []any

func floatsOf(dims []int, data ...int) any {
	list := []any{dims}
	for _, x := range data {
		list = append(list, x)
	}
	return map[string]any{"float32": list}
}

func ofStep(i int) any              { return map[string]any{"step": i} }
func ofGlobal(name string) any      { return map[string]any{"global": name} }
func onVM(f string, a ...any) step  { return append(step{"vm", f}, a...) }
func onLib(f string, a ...any) step { return append(step{"lib", f}, a...) }

var (
	x23, y3 = floatsOf([]int{2, 3}, 1, 2, 3, 4, 5, 6), floatsOf([]int{3}, 1, 2, 3)
	left    = floatsOf([]int{2}, 7, 8)
	begin   = []step{onLib("vm_load_executable"), onVM("vm_initialization", 1, 0, 2)}[:2:2]
)

// stepsOf are the steps for each model of package wheelmodels.
var stepsOf = map[string][]step{
	"tuples": append(begin,
		onLib("stats"), onLib("stats", 1), onLib("as_text", 1), onLib("has_function", "nest"), onLib("has_function", "no"),
		onLib("has_function"), onLib("has_function", 3), onLib("nest", x23, y3), onLib("vm_load_executable", 1),
		onVM("vm_initialization", 1), onVM("vm_initialization", 1, 0), onVM("vm_initialization", 1, 0, 9),
		onVM("vm_initialization", "cpu", 0, 2), onVM("vm_initialization", 1, 0, 1), onVM("vm_initialization", 1, 0, 2),
		onVM("vm_initialization", 1, 0, 2, 1, 0, 2), onVM("stats"), onVM("no"),
		onVM("nest", x23, y3), onVM("nest", y3, x23), onVM("nest", x23), onVM("nest", x23, y3, y3), onVM("nest"),
		onVM("invoke_stateful", "nest"), onVM("get_output", "nest"), onVM("get_output_arity", "nest"),
		onVM("set_input"), onVM("set_input", 3), onVM("set_input", "nest"), onVM("set_input", "no", x23),
		onVM("set_input", "nest", y3, x23), onVM("invoke_stateful", "nest"), onVM("get_output_arity", "nest"),
		onVM("set_input", "nest", x23, y3), onVM("invoke_stateful", "nest"), onVM("invoke_stateful"),
		onVM("invoke_stateful", "nest", 1), onVM("get_output", "nest"), onVM("get_output", "nest", 0),
		onVM("get_output", "nest", 1), onVM("get_output", "nest", 1, 0), onVM("get_output", "nest", 1, 1, 0),
		onVM("get_output", "nest", 1, 1, 1), onVM("get_output", "nest", 1, 1, 1, 0), onVM("get_output", "nest", -1),
		onVM("get_output", "nest", 3), onVM("get_output", "nest", 0, 0), onVM("get_output", "nest", "a"),
		onVM("get_output", "no"), onVM("get_output"), onVM("get_output_arity"), onVM("get_output_arity", "nest"),
		onVM("get_output_arity", "nest", 0), onVM("get_output_arity", "nest", 1),
		onVM("get_output_arity", "nest", 1, 1, 1), onVM("get_output_arity", "nest", 5),
		onVM("get_output_arity", "nest", 1, 0, 0), onVM("get_output_arity", "no"), onVM("get_output_arity", "empty"),
		onVM("set_input", "empty"), onVM("invoke_stateful", "empty"), onVM("get_output_arity", "empty"),
		onVM("set_input", "swap", []any{left, y3}), onVM("invoke_stateful", "swap"), onVM("get_output", "swap", 0),
		onVM("set_input", "swap", left), onVM("invoke_stateful", "swap"), onVM("get_output", "swap", 1),
		onVM("set_input", "swap", []any{left, []any{y3}}), onVM("set_input", "swap", 3), onVM("set_input", "swap", nil),
		onVM("set_input", "swap", "text"), onVM("invoke_stateful", "swap"),
		onVM("set_input_with_param_module", "swap", []any{left, y3}), onVM("set_input_with_param_module", "swap"),
		onVM("set_input_with_param_module"),
		onVM("get_function_arity"), onVM("get_function_arity", "nest"), onVM("get_function_arity", "no"),
		onVM("get_function_arity", 1), onVM("get_function_arity", "nest", 0),
		onVM("get_function_param_name", "nest", 1), onVM("get_function_param_name", "nest", 2),
		onVM("get_function_param_name", "nest", -1), onVM("get_function_param_name", "nest"),
		onVM("save_function", "nest", "kept", true, x23, y3), onVM("kept"), onVM("kept", x23),
		onVM("save_function", "nest", "kept", false, x23, y3), onVM("kept"), onVM("save_function", "nest", "n", 1, x23, y3),
		onVM("n"), onVM("save_function", "nest", "set_input", true, x23, y3), onVM("set_input"),
		onVM("save_function", "nest", "swap", true, x23, y3), onVM("swap"), onVM("swap", []any{left, y3}),
		onVM("save_function", "nest", "few", true, x23), onVM("few"), onVM("save_function", "nest"),
		onVM("save_function"), onVM("save_function", "nest", "z", nil, x23, y3),
		onVM("set_instrument"), onVM("set_instrument", nil), onVM("set_instrument", 3), onVM("set_instrument", "no"),
		onVM("set_instrument", "steps.factory", 1), onVM("nest", x23, y3), onVM("set_instrument", "steps.factory"),
		onVM("nest", x23, y3), onVM("set_instrument", "steps.number"), onVM("set_instrument", ofGlobal("steps.number")),
		onVM("nest", x23, y3), onVM("set_instrument", nil), onVM("nest", x23, y3),
		onVM("invoke_closure"), onVM("invoke_closure", 3), onVM("invoke_closure", nil),
		onVM("invoke_closure", ofGlobal("vm.builtin.make_tuple"), 3, 4), onVM("invoke_closure", "nest", x23, y3),
		onVM("invoke_closure", []any{left}),
		onLib("vm_load_executable"), onVM("get_function_arity", "nest"), onVM("get_output", "nest", 0), onVM("kept"),
	),
	"closures": append(begin,
		onVM("make", left), onVM("invoke_closure", ofStep(2), left), onVM("invoke_closure", ofStep(2)),
		onVM("invoke_closure", ofStep(2), left, left), onVM("apply", ofStep(2), left), onVM("lax", ofStep(2), left),
		onVM("apply", ofGlobal("vm.builtin.copy"), left), onVM("apply", left, left), onVM("lax", 3, left),
		onVM("set_input", "apply", ofStep(2), left), onVM("invoke_stateful", "apply"), onVM("get_output", "apply"),
		onVM("set_input", "make", left), onVM("invoke_stateful", "make"), onVM("get_output", "make"),
		onVM("invoke_closure", ofStep(16), left), onVM("get_output_arity", "make"), onVM("get_output", "make", 0),
	),
	"prims": append(begin,
		onVM("set_input", "nested", []any{3, []any{true, left}, map[string]any{"shape": []int{4, 5}}}),
		onVM("invoke_stateful", "nested"), onVM("get_output", "nested", 0, 0), onVM("get_output", "nested", 0, 1, 0),
		onVM("get_output", "nested", 1), onVM("get_output", "nested", 2), onVM("get_output_arity", "nested", 0, 0),
		onVM("get_output", "nested", 0, 0, 0),
	),
}

// stepArgument makes an argument; tensors are closed at the end of the test.
func stepArgument(t *testing.T, x any, results []any) any {
	switch x := x.(type) {
	case []any:
		list := []any{}
		for _, y := range x {
			list = append(list, stepArgument(t, y, results))
		}
		return list
	case map[string]any:
		switch v := x["step"].(type) {
		case int:
			return results[v]
		}
		if name, ok := x["global"].(string); ok {
			return must.Open(runtime.Global(name))(t)
		}
		if dims, ok := x["shape"].([]int); ok {
			return runtime.Shape(int64s(dims))
		}
		list := x["float32"].([]any)
		data := []float32{}
		for _, v := range list[1:] {
			data = append(data, float32(v.(int)))
		}
		return modules.Tensor(t, data, int64s(list[0].([]int))...)
	}
	return x
}

func int64s(list []int) (all []int64) {
	for _, n := range list {
		all = append(all, int64(n))
	}
	return all
}

// stepText is a result as testdata/steps.py prints it.
func stepText(t *testing.T, x any) string {
	list := func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }
	switch x := x.(type) {
	case *runtime.Tensor:
		require.Equal(t, dlpack.Float32, x.DType())
		return "float32" + list([]int64(x.Shape())) + list(must.Get(runtime.ToSlice[float32](x))(t))
	case runtime.Shape:
		return "shape" + list([]int64(x))
	case []any:
		all := []string{}
		for _, y := range x {
			all = append(all, stepText(t, y))
		}
		return "(" + strings.Join(all, ", ") + ")"
	case nil, bool, int64, float64, string:
		return string(must.Get(json.Marshal(x))(t))
	}
	return "object"
}

// Each call of a function of an executable or of a virtual machine gives what it gives in Apache TVM, or fails in both;
// also calls with wrong arguments, in any order, and those that follow a call that failed.
func TestSession_StepsLikeApacheTVM(t *testing.T) {
	noLeaks(t)
	made := func(n int) (any, error) {
		return runtime.NewFunction(func(...any) (any, error) { return int64(n), nil }) // 1 skips the call
	}
	for name, body := range map[string]runtime.PackedFunc{
		"steps.factory": func(args ...any) (any, error) { return made(len(args)) },
		"steps.number":  func(...any) (any, error) { return int64(0), nil },
	} {
		require.NoError(t, runtime.RegisterGlobal(name, must.Open(runtime.NewFunction(body))(t), false))
		t.Cleanup(func() { runtime.RemoveGlobal(name) })
	}
	wheel.NeedSameMachine(t)
	names, questions := []string{}, []any{}
	for _, m := range wheelmodels.Need(t) {
		if steps := stepsOf[m.Program]; steps != nil {
			names, questions = append(names, m.Name), append(questions, []any{m.Path, steps})
		}
	}
	answers := bytes.Split(bytes.TrimSpace(wheel.Run(t, bytes.NewReader(must.Get(json.Marshal(questions))(t)),
		"testdata/steps.py")), []byte("\n"))
	require.GreaterOrEqual(t, len(names), 6)
	for i, name := range names {
		q := questions[i].([]any)
		steps := q[1].([]step)
		require.GreaterOrEqual(t, len(answers), len(steps))
		t.Run(name, func(t *testing.T) { runSteps(t, q[0].(string), steps, answers[:len(steps)]) })
		answers = answers[len(steps):]
	}
	require.Empty(t, answers)
}

func runSteps(t *testing.T, path string, steps []step, answers [][]byte) {
	loaded := map[any]*runtime.Module{"lib": modules.Load(t, path)}
	var results []any
	defer func() { closeAll(results) }()
	for i, s := range steps {
		var args []any
		for _, a := range s[2:] {
			args = append(args, stepArgument(t, a, results))
		}
		var want string
		require.NoError(t, json.Unmarshal(answers[i], &want))
		var result any
		got := "error"
		f, err := loaded[s[0]].Function(s[1].(string))
		if err == nil {
			result, err = f.Call(args...)
			f.Close()
		}
		if err == nil {
			got = stepText(t, result)
		}
		if m, ok := result.(*runtime.Module); ok {
			loaded["vm"] = m
		}
		results = append(results, result)
		require.Equal(t, want, got, "step %d: %v: %v", i, s, err)
	}
}

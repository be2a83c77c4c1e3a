package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/modelcall"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/nearest"
	"tvmgo/runtime"
	"tvmgo/serve/oip"
)

// Options are the options of Load. The zero value loads the function main, or the only one, for the default device.
type Options struct {
	// Function is the name of the function; "": main, or the only one.
	Function string
	// Device is where the function runs. The zero value is the default: of a whole model that of runtime.OnDevices, of a
	// plain function the first device that the file has kernels for and that exists here.
	Device dlpack.Device
	// Params is a file with weights of a whole model, for runtime.WithParams.
	Params string
	// Load are options of runtime.Load.
	Load []runtime.LoadOption
	// Memory limits the bytes that calls take together; 0 is no limit. Those of a whole model are counted as
	// runtime.WithMemoryLimit does, those of a plain function are its outputs and copies on its device until the call
	// returns.
	Memory int64
	// Outputs names the arguments that a plain function writes, if its signature does not mark them.
	Outputs []string
}

// Model is a function of a library, on one device. Any number of goroutines may use it at once.
type Model struct {
	function string
	platform string
	inputs   []port
	outputs  []port
	checks   *modelcall.Function
	params   []int // of checks: that of each input
	batches  bool
	shared   bool // some tensors are not stacked in a batch
	foreign  bool // the library has no kernels for the device
	impl     implementation
}

// implementation calls a function. Inputs are in the order of Model.inputs, in the forms that the function takes, and
// match the signature; the outputs are tensors on the CPU in the order of Model.outputs.
type implementation interface {
	run(ctx context.Context, in call) ([]*runtime.Tensor, error)
	runBatch(ctx context.Context, in []call) ([][]*runtime.Tensor, error)
	device() dlpack.Device
	memory() (runtime.ModelMemory, error)
	wait(ctx context.Context) error
	close() error
}

// call is a request.
type call struct {
	values    []any                // of the inputs: *runtime.Tensor, runtime.Shape or a number
	arguments []modelcall.Argument // the same, described
}

// Load loads a library and chooses a function. The caller closes the model.
//
// The errors are those of runtime.Load and runtime.LoadModel. They name the file, and are ErrInvalidArgument or
// ErrNotFound: for a file with several functions of which none is main; for a function whose signature is not known;
// for an input or an output that is not a tensor, a shape or a number; and for an output whose dimensions no input
// determines.
func Load(ctx context.Context, path string, o Options) (*Model, error) {
	file, err := runtime.Load(ctx, path, o.Load...)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := load(ctx, file, &o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.foreign, err = isForeign(file, m.Device()); err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := m.checkTypes(); err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: function %s: %w", path, m.function, err)
	}
	return m, nil
}

// checkTypes returns an error for element types that the protocol has no name for.
func (m *Model) checkTypes() error {
	for word, list := range map[string][]port{"input": m.inputs, "output": m.outputs} {
		for i := range list {
			if _, ok := oip.DatatypeName(list[i].DType); !ok {
				return wrong("%s %s has elements of type %v, which the protocol has no name for: cast it in the model", word,
					list[i].Name, list[i].DType)
			}
		}
	}
	return nil
}

func load(ctx context.Context, file *runtime.Module, o *Options) (*Model, error) {
	whole, isGraph, err := isWhole(file)
	if err != nil {
		return nil, err
	}
	if whole {
		m, err := loadWhole(file, isGraph, o)
		var missing *noFunction
		if err == nil || !errors.As(err, &missing) || !slices.Contains(file.AllFunctions(), o.Function) {
			return m, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return loadPlain(file, o)
}

// isForeign reports whether a library has no module with kernels for a device. It may compute there even so, if it
// calls functions of other libraries.
func isForeign(m *runtime.Module, on dlpack.Device) (bool, error) {
	if on.Type == dlpack.CPU {
		return false, nil
	}
	found := false
	err := walk(m, map[uintptr]bool{}, func(m *runtime.Module) bool {
		found = m.Kind() == on.Type.String()
		return found
	})
	return !found, err
}

// isWhole reports whether a module is a whole model, as runtime.NewModel finds it.
func isWhole(m *runtime.Module) (whole, isGraph bool, err error) {
	seen := map[uintptr]bool{}
	err = walk(m, seen, func(m *runtime.Module) bool {
		form := modulekind.FormOf(m.Kind())
		isGraph = form == modulekind.GraphText
		whole = isGraph || form == modulekind.Program
		return whole
	})
	return whole, isGraph, err
}

// walk visits a module and its imports, depth first, each once, until visit returns true.
func walk(m *runtime.Module, seen map[uintptr]bool, visit func(*runtime.Module) bool) error {
	var stopped bool
	var next func(m *runtime.Module) error
	next = func(m *runtime.Module) error {
		if stopped || seen[m.ID()] {
			return nil
		}
		seen[m.ID()] = true
		if stopped = visit(m); stopped {
			return nil
		}
		imports, err := m.Imports()
		for _, i := range imports {
			err = errors.Join(err, next(i), i.Close())
		}
		return err
	}
	return next(m)
}

// noFunction is the error for a function that there is not.
type noFunction struct{ error }

// choose returns the function of a name; without one, main or the only function.
func choose(list []string, name string) (string, error) {
	if name == "" {
		switch {
		case slices.Contains(list, "main"):
			return "main", nil
		case len(list) == 1:
			return list[0], nil
		case len(list) == 0:
			return "", fault.New("", runtime.ErrNotFound, "it has no functions that can be called with tensors")
		}
		return "", fault.New("", runtime.ErrNotFound, "no function is named main: choose one of its functions: %s",
			some(list))
	}
	if slices.Contains(list, name) {
		return name, nil
	}
	hint := ""
	if n := nearest.Name(name, list); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return "", &noFunction{fault.New("", runtime.ErrNotFound, "there is no function %q%s: its functions are %s", name,
		hint, some(list))}
}

func (e *noFunction) Unwrap() error { return e.error }

// some joins the first names.
func some(names []string) string {
	const most = 20
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// finish prepares the checks. free are the parameters that the inputs are for, in their order.
func (m *Model) finish(params []modelcall.Parameter, result modelcall.Type) {
	m.checks = modelcall.New(params, result).WithNoun("input")
	for i, p := range params {
		if !p.Bound {
			m.params = append(m.params, i)
		}
	}
}

func values(ports []port) []Value {
	list := make([]Value, len(ports))
	for i := range ports {
		list[i] = ports[i].Value
		list[i].Shape, list[i].Symbols = slices.Clone(list[i].Shape), slices.Clone(list[i].Symbols)
	}
	return list
}

// Inputs describes the inputs in the order in which all methods take them.
func (m *Model) Inputs() []Value { return values(m.inputs) }

// Outputs describes the outputs in the order in which Run returns them.
func (m *Model) Outputs() []Value { return values(m.outputs) }

// Function is the name of the function.
func (m *Model) Function() string { return m.function }

// Platform says what the model is: "tvmgo_relax" (a Relax executable, as compiled ONNX files are), "tvmgo_graph" (a
// graph executor) or "tvmgo_packed" (a plain function).
func (m *Model) Platform() string { return m.platform }

// Device is the device on which the function computes.
func (m *Model) Device() dlpack.Device { return m.impl.device() }

// Batches reports whether the signature allows that requests are stacked along the first dimension, as
// runtime.Model.RunBatch describes. It cannot show whether the function computes each row alone: whoever serves the
// model must know.
func (m *Model) Batches() bool { return m.batches }

// Run calls the function with tensors in CPU memory, in the order of Inputs, and returns tensors in the order of
// Outputs: compact, in CPU memory, for the caller to close. An output may share memory with an input, and with a
// constant of the model: do not write its elements. Inputs that do not match the signature are an error, as of Check.
//
// If ctx ends, Run returns its error at once. The call goes on: you may close the inputs, but not change their
// elements. Wait waits for such calls.
func (m *Model) Run(ctx context.Context, inputs []*runtime.Tensor) ([]*runtime.Tensor, error) {
	in, err := m.prepare(inputs)
	if err != nil {
		return nil, err
	}
	return m.impl.run(ctx, in)
}

// RunBatch answers several requests, whose keys are equal, in one call of the function, and returns the outputs of
// each. Requests with other keys are run apart, and those of a model that does not batch one after another. After an
// error no output is left open. Otherwise it is like Run.
func (m *Model) RunBatch(ctx context.Context, requests [][]*runtime.Tensor) ([][]*runtime.Tensor, error) {
	list := make([]call, len(requests))
	for i, inputs := range requests {
		var err error
		if list[i], err = m.prepare(inputs); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	if m.shared {
		m.share(list)
	}
	return m.impl.runBatch(ctx, list)
}

// share replaces tensors that are not stacked, and have the same elements in several requests, by the same tensors: the
// runtime stacks no others.
func (m *Model) share(list []call) {
	first := map[string]int{}
	stacked := m.checks.Stacked()
	for i := range list {
		key, _ := m.key(&list[i])
		at, known := first[key]
		if key == "" || !known {
			first[key] = i
			continue
		}
		for k, p := range m.params {
			if !stacked[p] {
				list[i].values[k] = list[at].values[k]
			}
		}
	}
}

// Memory counts the memory of calls; see Options.Memory.
func (m *Model) Memory() (runtime.ModelMemory, error) { return m.impl.memory() }

// Wait returns when all calls have ended that went on after their context had ended. If ctx ends first, it returns the
// error of ctx.
func (m *Model) Wait(ctx context.Context) error { return m.impl.wait(ctx) }

// Close releases the model. It waits for nothing: calls in progress end normally, and the last one frees the model.
// Outputs stay valid. Closing twice is fine.
func (m *Model) Close() error { return m.impl.close() }

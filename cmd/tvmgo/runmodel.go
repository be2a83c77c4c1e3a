//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/cmd/tvmgo/internal/outfile"
	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
	"tvmgo/profile"
	"tvmgo/runtime"
)

// modelRun is a call of a function of a model.
type modelRun struct {
	*runFlags
	path    string
	model   *runtime.Model
	devices []dlpack.Device
	info    runtime.FunctionInfo
	inputs  runtime.Inputs
	outputs []modelOutput
}

// runModel makes a model of a module and calls one of its functions. It returns false if the model has no function of
// this name, but its library has.
func (f *runFlags) runModel(ctx context.Context, m *runtime.Module, path, name string, w io.Writer) (bool, error) {
	isKernel := func() bool {
		model, others := modelFunctions(path)
		return slices.Contains(others, name) && !slices.Contains(model, name)
	}
	model, err := f.newModel(m)
	switch {
	case err != nil && name != "" && isKernel():
		return false, nil
	case err != nil:
		return true, fmt.Errorf("%s: %w", path, err)
	}
	defer model.Close()
	info, err := choose(model.Functions(), name)
	switch {
	case err != nil && name != "" && isKernel():
		return false, nil
	case err != nil:
		return true, fmt.Errorf("%s: %w", path, err)
	}
	r := &modelRun{runFlags: f, path: path, model: model, devices: model.Devices(), info: info}
	return true, r.run(ctx, w)
}

func (f *runFlags) newModel(m *runtime.Module) (*runtime.Model, error) {
	var options []runtime.ModelOption
	devices, err := f.devices()
	if err != nil {
		return nil, err
	}
	if devices != nil {
		options = append(options, runtime.OnDevices(devices...))
	}
	if f.params != "" {
		options = append(options, runtime.WithParams(f.params))
	}
	return runtime.NewModel(m, options...)
}

// choose returns the function of a name; without one, main or the only function.
func choose(functions []runtime.FunctionInfo, name string) (runtime.FunctionInfo, error) {
	var names []string
	for _, f := range functions {
		if f.Name == name || name == "" && (f.Name == "main" || len(functions) == 1) {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if name == "" {
		return runtime.FunctionInfo{}, fmt.Errorf("the model has no function main: name one of its functions: %s",
			someNames(names))
	}
	hint := ""
	if n := nearest.Name(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return runtime.FunctionInfo{}, fmt.Errorf("the model has no function %q%s; its functions are %s", name, hint,
		someNames(names))
}

// someNames joins the first names; longer lists and names are cut.
func someNames(names []string) string {
	const most, longest = 20, 100
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, beginOf(name, longest))
	}
	text := strings.Join(list, ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// beginOf returns at most this number of bytes of a text, with an ellipsis if it is longer.
func beginOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (r *modelRun) run(ctx context.Context, w io.Writer) error {
	given, err := r.modelInputs()
	if err != nil {
		return err
	}
	in := &inputReader{info: r.info, devices: r.devices}
	defer in.close()
	if r.inputs, err = in.read(given); err != nil {
		return err
	}
	if r.outputs, err = r.modelOutputs(); err != nil {
		return err
	}
	var paths []string
	for _, o := range r.outputs {
		paths = append(paths, o.path)
	}
	if r.profile != "" {
		paths = append(paths, r.profile)
	}
	files, err := outfile.New(paths)
	if err != nil {
		return err
	}
	if known := typeLeaves(&r.info.Result); known != nil {
		if _, err := assign(r.outputs, known); err != nil {
			return fmt.Errorf("%w: %v", err, r.info)
		}
	}
	what := r.info.Name + " of " + r.path
	result, err := r.call(ctx)
	if err != nil {
		return r.explain(what, err)
	}
	defer result.Close()
	leaves, err := r.leaves(result)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	to, err := assign(r.outputs, leaves)
	if err != nil {
		return fmt.Errorf("%w: %v", err, r.info)
	}
	recorded, err := r.record()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err = files.WriteEach(func(i int, w io.Writer) error {
		if i == len(r.outputs) {
			return recorded.WriteTrace(w)
		}
		return r.outputs[i].write(w, leaves, to[i])
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s ran on %s\n", what, deviceList(r.devices))
	printOutputs(w, r.outputs, leaves, to)
	if recorded != nil {
		calls := count(max(r.repeat, 1), "call")
		fmt.Fprintf(w, "wrote %s: a trace of %s, for https://ui.perfetto.dev\noperators of %s:\n", r.profile, calls, calls)
		if err := recorded.WriteTable(w); err != nil {
			return err
		}
	}
	if r.repeat == 0 {
		return nil
	}
	return r.measure(ctx, w)
}

// call calls the function and waits for the devices.
func (r *modelRun) call(ctx context.Context) (runtime.Outputs, error) {
	out, err := r.model.RunFunction(ctx, r.info.Name, r.inputs)
	if err != nil {
		return nil, err
	}
	for _, d := range r.devices {
		if err := runtime.SyncDevice(ctx, d); err != nil {
			out.Close()
			return nil, err
		}
	}
	return out, nil
}

// record records further calls, without what happens only in the first one; nil without --profile.
func (r *modelRun) record() (*profile.Recording, error) {
	if r.profile == "" {
		return nil, nil
	}
	p, err := runtime.NewProfile()
	if err != nil {
		return nil, err
	}
	for range max(r.repeat, 1) {
		err := p.Do(func() error {
			out, err := r.call(context.Background()) // stays on this goroutine
			out.Close()
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return p.Recording()
}

// explain adds the signature to an error about the arguments.
func (r *modelRun) explain(what string, err error) error {
	if !errors.Is(err, runtime.ErrInvalidArgument) || strings.Contains(err.Error(), "\n") { // by a kernel: it has its own
		return fmt.Errorf("%s: %w", what, err)
	}
	const most = 400 // bytes of the signature
	return fmt.Errorf("%s: %w; the function is %s", what, err, beginOf(r.info.String(), most))
}

// measure prints the time of calls. Their arguments lie on the devices where the function wants them.
func (r *modelRun) measure(ctx context.Context, w io.Writer) error {
	work := &timedCall{bench.Calls{On: r.devices[0], WallOnly: true, Call: func() error {
		out, err := r.model.RunFunction(context.Background(), r.info.Name, r.inputs)
		out.Close()
		return err
	}}}
	defer work.Close()
	t, err := bench.Measure(ctx, bench.Config{Rounds: r.repeat, Sample: sampleTime, WarmUp: sampleTime}, work)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(w, timesText(t))
	return err
}

func deviceList(list []dlpack.Device) string {
	var names []string
	for _, d := range list {
		if name := d.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

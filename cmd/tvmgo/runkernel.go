//go:build cgo

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"tvmgo/cmd/tvmgo/internal/outfile"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/inspect"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
)

// kernelRun is a call of a function that writes into arrays: one that is not a function of a model.
type kernelRun struct {
	*runFlags
	path, name string
	dev        dlpack.Device
	inputs     []any // int64, float64, string, arguments.Output, arguments.File or *arguments.Array
	outputs    []*arguments.Array
}

// kernel checks everything that does not depend on files and devices.
func (f *runFlags) kernel(path, name string) (*kernelRun, error) {
	k := &kernelRun{runFlags: f, path: path, name: name, dev: runtime.CPU}
	if len(f.out) != len(f.like) {
		return nil, fmt.Errorf("%d --out and %d --like: each output needs both", len(f.out), len(f.like))
	}
	switch devices, err := f.devices(); {
	case err != nil:
		return nil, err
	case len(devices) > 1:
		return nil, fmt.Errorf("--device %s: a function that writes into arrays runs on one device", f.device)
	case len(devices) == 1:
		k.dev = devices[0]
	}
	if f.params != "" {
		return nil, fmt.Errorf("--params %s: only models have parameters", f.params)
	}
	if f.profile != "" {
		return nil, fmt.Errorf("--profile %s: only calls of models are recorded", f.profile)
	}
	for _, text := range f.like {
		a, err := arguments.ParseLike(text)
		if err != nil {
			return nil, err
		}
		k.outputs = append(k.outputs, a)
	}
	for _, text := range f.in {
		v, err := arguments.Parse(text)
		if big, is := v.(uint64); is && big > math.MaxInt64 {
			err = tooBig(text, big)
		}
		if err != nil {
			return nil, err
		}
		k.inputs = append(k.inputs, v)
	}
	_, err := arguments.Arrange(k.inputs, k.outputs)
	return k, err
}

func tooBig(text string, v uint64) error {
	return fmt.Errorf("--in %s: %d is not an integer of 64 bits with a sign: as uint64 it is i:%d", text, v, int64(v))
}

// read reads the files of the arguments.
func (k *kernelRun) read() error {
	if err := checkMemory(k.outputs, k.like); err != nil {
		return err
	}
	for i, v := range k.inputs {
		file, ok := v.(arguments.File)
		if !ok {
			continue
		}
		a, err := arguments.ReadNPY(string(file))
		if name, _, named := strings.Cut(string(file), "="); err != nil && named {
			return fmt.Errorf("%w: only inputs of models have names: leave out %s=", err, name)
		}
		if err != nil {
			return err
		}
		k.inputs[i] = a
	}
	return nil
}

// run calls the function of a module. The files of the arguments have been read.
func (k *kernelRun) run(ctx context.Context, m *runtime.Module, w io.Writer) error {
	values, err := arguments.Arrange(k.inputs, k.outputs)
	if err != nil {
		return err
	}
	files, err := outfile.New(k.out)
	if err != nil {
		return err
	}
	fn, err := m.Function(k.name)
	if err != nil {
		return fmt.Errorf("%s: %w", k.path, err)
	}
	defer fn.Close()
	c := &call{fn: fn, dev: k.dev, classic: func() bool { return isClassic(k.path) }}
	defer c.close()
	if err := c.addArguments(values); err != nil {
		return err
	}
	result, err := c.once(ctx)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", k.name, k.path, err)
	}
	if err := files.WriteEach(func(i int, w io.Writer) error { return c.write(w, k.outputs[i]) }); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s of %s ran on %v\n", k.name, k.path, k.dev)
	for i, a := range k.outputs {
		fmt.Fprintf(w, "wrote %s: %s\n", k.out[i], arguments.TypeText(a.DType, a.Shape))
	}
	if result != "" {
		fmt.Fprintf(w, "result: %s\n", result)
	}
	if k.repeat == 0 {
		return nil
	}
	t, err := c.measure(ctx, k.repeat)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(w, timesText(t))
	return err
}

// checkMemory rejects outputs that do not fit into the machine's memory.
func checkMemory(outputs []*arguments.Array, like []string) error {
	total := int64(0)
	for i, a := range outputs {
		size, err := dlpack.DataSize(a.Shape, a.DType)
		if err == nil {
			err = memory.Check(size)
		}
		if err != nil {
			return fmt.Errorf("--like %s: %w: use a smaller shape", like[i], err)
		}
		if total += size; total < 0 {
			total = math.MaxInt64
			break
		}
	}
	if err := memory.Check(total); err != nil {
		return fmt.Errorf("the outputs together: %w: use smaller shapes", err)
	}
	return nil
}

// isClassic reports whether the functions of the file take booleans in the form of the classic ABI, as uint1.
func isClassic(file string) bool {
	report, err := inspect.File(file)
	return err == nil && report.Generation == inspect.Classic
}

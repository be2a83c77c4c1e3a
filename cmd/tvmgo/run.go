package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/internal/inspect"
	"tvmgo/runtime"
)

// maxRepeat bounds the samples that --repeat keeps.
const maxRepeat = 1_000_000

// runFlags is the command line of run as the user wrote it.
type runFlags struct {
	in, out, like []string
	device        string
	repeat        int
}

func newRunCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run FILE FUNC [--in ARG]... [--out FILE --like TYPE[SHAPE]]...",
		Short: "Call a function of a module with arrays from .npy files",
		Long: `Load a module and call one of its functions. Loading a module runs its code: use files that you trust.

Arguments are those of --in in their order, then one array for each --out. An argument is a .npy file, or
i:3 (an integer), f:0.5 (a number), s:text, o:1 (the first --out, here instead of at the end). An output
array has the type and shape of the --like in the same place, begins as zeros, and is written as .npy.`,
		Example: `  tvmgo run add.so add --in a.npy --in b.npy --out c.npy --like float32[1024]
  tvmgo run scale.so scale --in a.npy --in o:1 --in f:0.5 --in i:1024 --out c.npy --like float32[1024]
  tvmgo run add.so add --in a.npy --in b.npy --out c.npy --like float32[1024] --repeat 100`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringArrayVar(&flags.in, "in", nil, "argument: a .npy file, i:3, f:0.5, s:text or o:1; repeat for more")
	cmd.Flags().StringArrayVar(&flags.out, "out", nil, ".npy file for an output; repeat for more")
	cmd.Flags().StringArrayVar(&flags.like, "like", nil, "type and shape of the output, for example float32[8,8]; one for each --out")
	cmd.Flags().StringVar(&flags.device, "device", "cpu", "where the arrays are, for example cpu or cuda:1")
	cmd.Flags().IntVar(&flags.repeat, "repeat", 0, "measure so many samples of the call's time")
	return cmd
}

// run checks everything that can be wrong before it loads the file.
func (f *runFlags) run(ctx context.Context, file, name string, w io.Writer) error {
	if f.repeat < 0 || f.repeat > maxRepeat {
		return fmt.Errorf("--repeat %d: give a number up to %d", f.repeat, maxRepeat)
	}
	if len(f.out) != len(f.like) {
		return fmt.Errorf("%d --out and %d --like: each output needs both", len(f.out), len(f.like))
	}
	outputs := make([]*array, len(f.like))
	for i, text := range f.like {
		a, err := parseLike(text)
		if err != nil {
			return err
		}
		outputs[i] = a
	}
	dev, err := parseDevice(f.device)
	if err != nil {
		return err
	}
	inputs := make([]any, len(f.in))
	for i, text := range f.in {
		if inputs[i], err = parseArg(text); err != nil {
			return err
		}
	}
	arguments, err := arrange(inputs, outputs)
	if err != nil {
		return err
	}
	files, err := newOutFiles(f.out)
	if err != nil {
		return err
	}
	m, err := runtime.Load(ctx, file)
	if err != nil {
		return err
	}
	defer m.Close()
	fn, err := m.Function(name)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer fn.Close()
	c := &call{fn: fn, dev: dev, classic: func() bool { return isClassic(file) }}
	defer c.close()
	if err := c.addArguments(arguments); err != nil {
		return err
	}
	result, err := c.once(ctx)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", name, file, err)
	}
	if err := c.fetch(outputs); err != nil {
		return err
	}
	if err := files.write(outputs); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s of %s ran on %v\n", name, file, dev)
	for i, a := range outputs {
		fmt.Fprintf(w, "wrote %s: %s\n", f.out[i], typeText(a.dtype, a.shape))
	}
	if result != "" {
		fmt.Fprintf(w, "result: %s\n", result)
	}
	if f.repeat == 0 {
		return nil
	}
	t, err := c.measure(ctx, f.repeat)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(w, t.text())
	return err
}

// parseDevice also checks that the device is there.
func parseDevice(text string) (dlpack.Device, error) {
	dev, err := dlpack.ParseDevice(text)
	if err != nil {
		return dev, fmt.Errorf("--device %s: %w", text, err)
	}
	var present []string
	for _, s := range runtime.Devices() {
		if s.Err == nil {
			present = append(present, s.Device.String())
		} else if s.Device.Type == dev.Type {
			return dev, fmt.Errorf("--device %s: %w", text, s.Err)
		}
	}
	if !slices.Contains(present, dev.String()) {
		if err := runtime.SyncDevice(context.Background(), dev); err != nil { // the device says it better
			return dev, fmt.Errorf("--device %s: %s", text, reason(err))
		}
		return dev, fmt.Errorf("--device %s: there is no such device here; there is: %s", text, strings.Join(present, ", "))
	}
	return dev, nil
}

// isClassic says whether the file's functions know truth values by the classic type, one bit in name.
func isClassic(file string) bool {
	report, err := inspect.File(file)
	return err == nil && report.Generation == inspect.Classic
}

// call is a function with its arguments on a device.
type call struct {
	fn      *runtime.Function
	dev     dlpack.Device
	classic func() bool // whether the function is of the classic generation
	args    []any
	tensors []*runtime.Tensor // those of args
	of      map[*array]*runtime.Tensor
}

func (c *call) close() {
	for _, t := range c.tensors {
		t.Close()
	}
}

// addArguments makes arrays of the arguments that are some; those without data, which are outputs, begin as zeros.
func (c *call) addArguments(args []any) error {
	for _, v := range args {
		a, ok := v.(*array)
		if !ok {
			c.args = append(c.args, v)
			continue
		}
		data := a.data
		if data == nil {
			size, err := dlpack.DataSize(a.shape, a.dtype)
			if err != nil {
				return err
			}
			data = make([]byte, size)
		}
		if err := c.addTensor(a, data); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) addTensor(a *array, data []byte) error {
	dtype := a.dtype
	if dtype == dlpack.Bool && c.classic() {
		dtype = dlpack.ClassicBool
	}
	t, err := runtime.NewTensor(dtype, a.shape, c.dev)
	if err != nil {
		return err
	}
	c.tensors, c.args = append(c.tensors, t), append(c.args, t)
	if c.of == nil {
		c.of = map[*array]*runtime.Tensor{}
	}
	c.of[a] = t
	return t.CopyFromBytes(data)
}

// once calls the function, waits for the device, and says what came back; "" for nothing.
func (c *call) once(ctx context.Context) (string, error) {
	result, err := c.fn.Call(c.args...)
	if err != nil {
		return "", err
	}
	if err := runtime.SyncDevice(ctx, c.dev); err != nil {
		return "", err
	}
	if closer, ok := result.(io.Closer); ok {
		defer closer.Close()
	}
	switch v := result.(type) {
	case nil:
		return "", nil
	case string:
		return fmt.Sprintf("%q", v), nil
	case *runtime.Function, *runtime.Module, *runtime.Object:
		return fmt.Sprintf("%T", v), nil
	}
	return fmt.Sprint(result), nil
}

// fetch copies the outputs from the device.
func (c *call) fetch(outputs []*array) error {
	for _, a := range outputs {
		t := c.of[a]
		a.data = make([]byte, t.Size())
		if err := t.CopyToBytes(a.data); err != nil {
			return err
		}
	}
	return nil
}

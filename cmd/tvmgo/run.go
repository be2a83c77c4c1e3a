package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/inspect"
	"tvmgo/internal/memory"
)

// runFlags holds the flags of run.
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
		Long: `Load a module and call one of its functions. This executes code of the module:
use files that you trust. The code runs in a child process, so that a crash is
reported in one line.

The arguments are those of --in in their order, then one array for each --out.
An argument is a .npy file, or i:3 (an integer), f:0.5 (a number), s:text, or
o:1 (the first --out, at this position instead of at the end). An output array
has the type and shape of its --like, is filled with zeros before the call, and
is written as .npy.`,
		Example: `  tvmgo run add.so add --in a.npy --in b.npy --out c.npy --like float32[1024]
  tvmgo run scale.so scale --in a.npy --in o:1 --in f:0.5 --in i:1024 --out c.npy --like float32[1024]
  tvmgo run add.so add --in a.npy --in b.npy --out c.npy --like float32[1024] --repeat 100`,
		Args:              exactly(2),
		ValidArgsFunction: fileThenFunction,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := flags.parse(); err != nil {
				return wrong(err)
			}
			if err := checkModuleFile(args[0]); err != nil {
				return fmt.Errorf("run %s: %w", args[0], err)
			}
			return supervise(cmd.Context(), args[1]+" of "+args[0], flags.again(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags.define(cmd)
	return cmd
}

// runCommand is the hidden command of the child process of run, which gets the same arguments.
const runCommand = "run-for-run"

func newRunChildCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:    runCommand + " FILE FUNC",
		Hidden: true,
		Args:   exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
		},
	}
	flags.define(cmd)
	return cmd
}

func (f *runFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.in, "in", nil, "argument: a .npy file, i:3, f:0.5, s:text or o:1; may be repeated")
	cmd.Flags().StringArrayVar(&f.out, "out", nil, ".npy file for an output; may be repeated")
	cmd.Flags().StringArrayVar(&f.like, "like", nil,
		"type and shape of the output, for example float32[8,8]; one for each --out")
	cmd.Flags().StringVar(&f.device, "device", "cpu", "device of the arrays, for example cpu or cuda:1")
	cmd.Flags().IntVar(&f.repeat, "repeat", 0, "measure the time of the call with this number of samples")
	completeFlag(cmd, "device", devicesHere)
	completeFlagBy(cmd, "like", completeLike)
}

// again returns the command line of the child process.
func (f *runFlags) again(args []string) []string {
	line := []string{runCommand, "--device=" + f.device, fmt.Sprintf("--repeat=%d", f.repeat)}
	for name, list := range map[string][]string{"in": f.in, "out": f.out, "like": f.like} {
		for _, text := range list {
			line = append(line, "--"+name+"="+text)
		}
	}
	return append(append(line, "--"), args...)
}

// parsed is a valid command line of run.
type parsed struct {
	inputs  []any // int64, float64, string, arguments.Output or arguments.File
	outputs []*arguments.Array
}

// parse checks everything that does not depend on files and devices.
func (f *runFlags) parse() (*parsed, error) {
	if f.repeat < 0 || f.repeat > bench.MaxRounds {
		return nil, fmt.Errorf("--repeat %d: give a number up to %d", f.repeat, bench.MaxRounds)
	}
	if len(f.out) != len(f.like) {
		return nil, fmt.Errorf("%d --out and %d --like: each output needs both", len(f.out), len(f.like))
	}
	if _, err := dlpack.ParseDevice(f.device); err != nil {
		return nil, fmt.Errorf("--device %s: %w", f.device, err)
	}
	p := &parsed{}
	for _, text := range f.like {
		a, err := arguments.ParseLike(text)
		if err != nil {
			return nil, err
		}
		p.outputs = append(p.outputs, a)
	}
	for _, text := range f.in {
		v, err := arguments.Parse(text)
		if big, is := v.(uint64); is && big > math.MaxInt64 {
			err = fmt.Errorf("--in %s: %d is not an integer of 64 bits with a sign: as uint64 it is i:%d", text, big, int64(big))
		}
		if err != nil {
			return nil, err
		}
		p.inputs = append(p.inputs, v)
	}
	_, err := arguments.Arrange(p.inputs, p.outputs)
	return p, err
}

// run checks the arguments before it loads the file.
func (f *runFlags) run(ctx context.Context, path, name string, w io.Writer) error {
	p, err := f.parse()
	if err != nil {
		return wrong(err)
	}
	dev, err := parseDevice(f.device)
	if err != nil {
		return err
	}
	if err := checkMemory(p.outputs, f.like); err != nil {
		return err
	}
	for i, v := range p.inputs {
		if file, ok := v.(arguments.File); ok {
			if p.inputs[i], err = arguments.ReadNPY(string(file)); err != nil {
				return err
			}
		}
	}
	values, err := arguments.Arrange(p.inputs, p.outputs)
	if err != nil {
		return err
	}
	files, err := newOutFiles(f.out)
	if err != nil {
		return err
	}
	m, err := loadModule(ctx, path)
	if err != nil {
		return err
	}
	defer m.Close()
	fn, err := m.Function(name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer fn.Close()
	c := &call{fn: fn, dev: dev, classic: func() bool { return isClassic(path) }}
	defer c.close()
	if err := c.addArguments(values); err != nil {
		return err
	}
	result, err := c.once(ctx)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", name, path, err)
	}
	if err := files.writeEach(func(i int, w io.Writer) error { return c.write(w, p.outputs[i]) }); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s of %s ran on %v\n", name, path, dev)
	for i, a := range p.outputs {
		fmt.Fprintf(w, "wrote %s: %s\n", f.out[i], arguments.TypeText(a.DType, a.Shape))
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

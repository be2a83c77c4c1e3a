//go:build cgo

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/modulekind"
	"tvmgo/runtime"
)

// runFlags holds the flags of run.
type runFlags struct {
	in, out, like   []string
	params, profile string
	device          string
	repeat          int
}

func newRunCommand() *cobra.Command {
	var flags runFlags
	var trusted string
	cmd := &cobra.Command{
		Use:   "run FILE [FUNCTION] [--in ARG]... [--out FILE]...",
		Short: "Run a model, or call a function of a module, with arrays from .npy files",
		Long: `Load a file and call one of its functions. This executes code of the file: use
files that you trust, or those alone that others have signed whom you trust
(--trusted-keys). The code runs in a child process, so that a crash is
reported in one line.

Models (Relax executables and graph executors). FUNCTION is main, or the only
function, if you leave it out. Inputs have names, or come in the order of the
parameters: --in x=x.npy, or --in x.npy. An input is a .npy file, i:3 (an
integer), f:0.5 (a number), b:true, s:text, or shape:2,3. --in state.0=h.npy is
a field of a tuple. A file of several arrays (.npz, .safetensors, .params) has
inputs by their names. --params binds the arrays of such a file, or of a folder
with a tensor cache, to the parameters of their names.

The results go to the .npy files of --out in their order, or by their names:
--out y.npy, --out 1=y.npy for field 1 of a tuple. One --out y.npz (or
.safetensors, .params) has them all. Results without a file are printed: type,
shape, least, greatest and mean value, and the first elements. inspect shows the
names and the types. --profile trace.json records one more call, or as many as
--repeat says: a trace for https://ui.perfetto.dev, and a table of the operators.

Other functions write into arrays. The arguments are those of --in in their
order, then one array for each --out; o:1 is the first --out, at this position
instead of at the end. An output array has the type and shape of its --like, is
filled with zeros before the call, and is written as .npy.`,
		Example: `  tvmgo run model.so --params w.safetensors --in x=x.npy --out y.npy
  tvmgo run model.so decode --in token.npy --in state.0=h.npy --device opencl:0 --out 0=logits.npy
  tvmgo run add.so add --in a.npy --in b.npy --out c.npy --like float32[1024] --repeat 100
  tvmgo run scale.so scale --in a.npy --in o:1 --in f:0.5 --in i:1024 --out c.npy --like float32[1024]`,
		Args:              between(1, 2),
		ValidArgsFunction: fileThenFunction,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return wrong(err)
			}
			if err := checkModuleFile(args[0]); err != nil {
				return fmt.Errorf("run %s: %w", args[0], err)
			}
			ctx, err := withTrust(cmd.Context(), trusted)
			if err != nil {
				return err
			}
			what := args[0]
			if len(args) > 1 {
				what = args[1] + " of " + args[0]
			}
			return supervise(ctx, what, flags.again(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags.define(cmd)
	trustedKeysFlag(cmd.Flags(), &trusted)
	return cmd
}

// runCommand is the hidden command of the child process of run, which gets the same arguments.
const runCommand = "run-for-run"

func newRunChildCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:    runCommand + " FILE [FUNCTION]",
		Hidden: true,
		Args:   between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return wrong(err)
			}
			out := &keepError{to: cmd.OutOrStdout()}
			if err := flags.run(cmd.Context(), args[0], append(args[1:], "")[0], out); err != nil {
				return err
			}
			return out.err
		},
	}
	flags.define(cmd)
	return cmd
}

// keepError passes writes on and keeps the first error.
type keepError struct {
	to  io.Writer
	err error
}

func (k *keepError) Write(p []byte) (int, error) {
	n, err := k.to.Write(p)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

func (f *runFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.in, "in", nil,
		"argument: NAME=FILE.npy or FILE.npy, i:3, f:0.5, b:true, s:text, shape:2,3, or o:1; may be repeated")
	cmd.Flags().StringArrayVar(&f.out, "out", nil,
		"FILE.npy or NAME=FILE.npy for an output, or one .npz for all of a model; may be repeated")
	cmd.Flags().StringArrayVar(&f.like, "like", nil,
		"type and shape of the output, for example float32[8,8]; one for each --out; not for models")
	cmd.Flags().StringVar(&f.params, "params", "", "file or folder with the parameters of the model")
	cmd.Flags().StringVar(&f.device, "device", "",
		"device of the arrays (cpu), or devices of the model, for example cuda:1 or opencl:0,cpu")
	cmd.Flags().StringVar(&f.profile, "profile", "",
		"file for a trace of a call of a model, or of --repeat calls, for Perfetto; prints a table of operators")
	cmd.Flags().IntVar(&f.repeat, "repeat", 0, "measure the time of the call with this number of samples")
	completeFlag(cmd, "device", devicesHere)
	completeFlagBy(cmd, "like", completeLike)
	completeFlagBy(cmd, "in", completeInput)
}

// again returns the command line of the child process.
func (f *runFlags) again(args []string) []string {
	line := []string{runCommand, "--device=" + f.device, "--params=" + f.params, "--profile=" + f.profile,
		fmt.Sprintf("--repeat=%d", f.repeat)}
	for name, list := range map[string][]string{"in": f.in, "out": f.out, "like": f.like} {
		for _, text := range list {
			line = append(line, "--"+name+"="+text)
		}
	}
	return append(append(line, "--"), args...)
}

// check checks everything that does not depend on files and devices. With --like, the function is none of a model.
func (f *runFlags) check(args []string) error {
	if f.repeat < 0 || f.repeat > bench.MaxRounds {
		return fmt.Errorf("--repeat %d: give a number up to %d", f.repeat, bench.MaxRounds)
	}
	if len(f.like) > 0 {
		if len(args) < 2 {
			return errors.New("--like: name the function, or leave out --like for a model")
		}
		_, err := f.kernel(args[0], args[1])
		return err
	}
	if _, err := f.devices(); err != nil {
		return err
	}
	if _, err := f.modelInputs(); err != nil {
		return err
	}
	_, err := f.modelOutputs()
	return err
}

// devices parses --device; nil without it.
func (f *runFlags) devices() (list []dlpack.Device, err error) {
	if f.device == "" {
		return nil, nil
	}
	for _, text := range strings.Split(f.device, ",") {
		d, err := dlpack.ParseDevice(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--device %s: %w", f.device, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// modelInputs parses --in for a model.
func (f *runFlags) modelInputs() (list []arguments.Input, err error) {
	for _, text := range f.in {
		in, err := arguments.ParseInput(text)
		if big, is := in.Value.(uint64); is && big > math.MaxInt64 {
			err = tooBig(text, big)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	return list, nil
}

// run loads the file, and calls the function: that of a model, if it has one of this name.
func (f *runFlags) run(ctx context.Context, path, name string, w io.Writer) error {
	for text := range strings.SplitSeq(f.device, ",") {
		if text == "" {
			continue
		}
		if _, err := parseDevice(strings.TrimSpace(text)); err != nil {
			return err
		}
	}
	var kernel *kernelRun
	if len(f.like) > 0 {
		k, err := f.kernel(path, name)
		if err == nil {
			err = k.read() // before code of the file runs
		}
		if err != nil {
			return err
		}
		kernel = k
	}
	m, err := loadModule(ctx, path)
	if err != nil {
		return err
	}
	defer m.Close()
	switch {
	case kernel == nil && isModel(m):
		done, err := f.runModel(ctx, m, path, name, w)
		if done || err != nil {
			return err
		}
	case isModel(m):
		if of, _ := modelFunctions(path); slices.Contains(of, name) {
			return fmt.Errorf("%s of %s is a function of a model, which makes its results: leave out --like", name, path)
		}
	}
	if name == "" {
		return fmt.Errorf("%s is no model: name the function to call: %s", path,
			cmp.Or(strings.Join(functionsOf(path), ", "), "none is known"))
	}
	if kernel == nil {
		if kernel, err = f.kernel(path, name); err == nil {
			err = kernel.read()
		}
		if err != nil {
			return fmt.Errorf("%s of %s is no function of a model: %w", name, path, err)
		}
	}
	return kernel.run(ctx, m, w)
}

// isModel reports whether a module is a whole model.
func isModel(m *runtime.Module) bool {
	form := modulekind.FormOf(m.Kind())
	return form == modulekind.Program || form == modulekind.GraphText
}

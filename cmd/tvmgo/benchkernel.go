//go:build cgo && !runtimeonly

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/bench/suite"
	"tvmgo/export/pack"
)

// benchKernel is a case of the user's files, as the command line has it.
type benchKernel struct {
	Files     []string `json:"files"`
	Function  string   `json:"function"`
	In        []string `json:"in"`
	Like      []string `json:"like"`
	Size      []string `json:"size"`
	Expect    []string `json:"expect"`
	Signature string   `json:"signature"`
	Grid      []int    `json:"grid"`
	Block     []int    `json:"block"`
	Target    string   `json:"target"`
	Figure    string   `json:"figure"`
	Ops       float64  `json:"ops"`
	Rel       float64  `json:"rtol"` // -1: that of the type
	Abs       float64  `json:"atol"`
}

func (k *benchKernel) define(flags *pflag.FlagSet) {
	flags.StringArrayVar(&k.In, "in", nil,
		"argument of the function: a .npy file, float32[1024], i:3, f:0.5, s:text or o:1; may be repeated")
	flags.StringArrayVar(&k.Like, "like", nil, "type and shape of an array that the function writes; may be repeated")
	flags.StringSliceVar(&k.Size, "size", nil, "value of a name in the signature, for example n=4096; may be repeated")
	flags.StringArrayVar(&k.Expect, "expect", nil, ".npy file with the contents of an output; may be repeated")
	flags.StringVar(&k.Signature, "func", "", "signature of a kernel, as pack takes it (default: that in the file)")
	flags.IntSliceVar(&k.Grid, "grid", nil, "number of blocks of a kernel without a signature, for example 64,64")
	flags.IntSliceVar(&k.Block, "block", nil, "number of threads of a block of a kernel without a signature")
	flags.StringVar(&k.Target, "target", "", "target for which a .tir file is built (default: that of each device)")
	flags.StringVar(&k.Figure, "figure", "", "what is reported of your function: time, bandwidth, flops or integer")
	flags.Float64Var(&k.Ops, "ops", 0, "operations on numbers of a call of your function, for flops")
	flags.Float64Var(&k.Rel, "rtol", -1, "relative tolerance of results (default: that of the type)")
	flags.Float64Var(&k.Abs, "atol", -1, "absolute tolerance of results (default: that of the type)")
	for _, name := range []string{"rtol", "atol"} {
		flags.Lookup(name).DefValue = "0" // -1 is no value for a user: --help does not show it
	}
}

// set splits the arguments into files and the name of a function, which is the last one if it is not a file.
func (k *benchKernel) set(args []string) {
	k.Files = args
	if n := len(args) - 1; n >= 0 && filepath.Ext(args[n]) == "" {
		if _, err := os.Stat(args[n]); err != nil || n > 0 {
			k.Files, k.Function = args[:n], args[n]
		}
	}
}

// only returns the first flag that has a meaning for files alone; "" if none is set.
func (k *benchKernel) only(flags *pflag.FlagSet) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if name == "" && slices.Contains([]string{"in", "like", "size", "expect", "func", "grid", "block", "target", "figure",
			"ops", "rtol", "atol", trustedKeysName}, f.Name) {
			name = f.Name
		}
	})
	return name
}

// cases returns the case, and the cases that are its limits.
func (k *benchKernel) cases() ([]*bench.Case, error) {
	o, err := k.options()
	if err != nil {
		return nil, err
	}
	of, err := custom.Case(k.Files, *o)
	switch {
	case errors.Is(err, custom.ErrNoOps):
		return nil, fmt.Errorf("%w with --ops", err)
	case err != nil:
		return nil, err
	}
	limits, err := selectCases(of.Limits, suite.Options{})
	if err != nil { // of a suite that has no such case
		limits = nil
	}
	return append(limits, of), nil
}

// options reads the flags, and the .npy files that they name.
func (k *benchKernel) options() (*custom.Options, error) {
	o := &custom.Options{Function: k.Function, Signature: k.Signature, Target: k.Target, Figure: bench.Figure(k.Figure),
		Ops: k.Ops, Sizes: map[string]int64{}}
	for _, text := range k.In {
		v, err := custom.ParseArgument(text)
		if err != nil {
			return nil, err
		}
		o.In = append(o.In, v)
	}
	for _, text := range k.Like {
		a, err := custom.ParseArray(text)
		if err != nil {
			return nil, err
		}
		o.Out = append(o.Out, a)
	}
	for _, text := range k.Expect {
		v, err := custom.ParseArgument(text)
		a, is := v.(*custom.Array)
		if err == nil && !is {
			err = fmt.Errorf("name a .npy file")
		}
		if err != nil {
			return nil, fmt.Errorf("--expect %s: %w", text, err)
		}
		o.Expect = append(o.Expect, a)
	}
	for _, text := range k.Size {
		name, value, found := strings.Cut(text, "=")
		n, err := strconv.ParseInt(value, 0, 64)
		if !found || err != nil || name == "" {
			return nil, fmt.Errorf("--size %s: write a name and a number, for example n=4096", text)
		}
		o.Sizes[name] = n
	}
	for _, l := range []struct {
		name string
		from []int
		to   *[3]int
	}{{"grid", k.Grid, &o.Grid}, {"block", k.Block, &o.Block}} {
		if len(l.from) > len(l.to) {
			return nil, fmt.Errorf("--%s: %d numbers: give at most 3", l.name, len(l.from))
		}
		copy(l.to[:], l.from)
	}
	if k.Rel >= 0 || k.Abs >= 0 {
		o.Tolerance = &pack.Tolerance{Rel: max(k.Rel, 0), Abs: max(k.Abs, 0)}
	}
	return o, nil
}

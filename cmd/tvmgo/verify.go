//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
)

// verifyFlags holds the flags of verify.
type verifyFlags struct {
	device  string
	trusted string
	tol     pack.Tolerance
	limit   time.Duration
	asJSON  bool
}

func newVerifyCommand() *cobra.Command {
	f := verifyFlags{device: "cpu", tol: pack.DefaultTolerance, limit: time.Minute}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Run the test vectors in a packed library",
		Long: `Run the test vectors in a library that tvmgo pack made, and report differences.
This executes code of the file: use files that you trust, or --trusted-keys.
Signatures of files are checked by sign --verify. Arrays that are only
written are filled with a pattern before the call, so that elements that were
not written are found. Floating-point numbers may differ by
atol + rtol * |expected|; all others must be equal.

Each test vector runs in its own child process. A vector that crashes the
process or exceeds the time limit has failed.

The exit status is 1 if a result differs or a call fails, and also if there are
no test vectors, the device does not exist, or the file cannot be loaded. With
--json, the vectors that ran are still printed on standard output.`,
		Args:              exactly(1),
		ValidArgsFunction: onlyFiles(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return wrong(err)
			}
			ctx, err := withTrust(cmd.Context(), f.trusted)
			if err != nil {
				return err
			}
			report, err := f.verify(ctx, args[0])
			if err != nil {
				return fmt.Errorf("verify %s: %w", args[0], err)
			}
			if f.asJSON {
				err = writeJSON(cmd.OutOrStdout(), report)
			} else {
				err = writeVerify(cmd.OutOrStdout(), report)
			}
			if err != nil {
				return err
			}
			if n := report.Failed(); n > 0 {
				return fmt.Errorf("verify %s: %d of %s failed", args[0], n, count(len(report.Vectors), "test vector"))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.StringVar(&f.device, "device", f.device, "device of the tensors, for example cpu or cuda:1")
	flags.Float64Var(&f.tol.Rel, "rtol", f.tol.Rel, "relative tolerance")
	flags.Float64Var(&f.tol.Abs, "atol", f.tol.Abs, "absolute tolerance")
	flags.DurationVar(&f.limit, "timeout", f.limit, "time limit of a test vector, including loading the file")
	trustedKeysFlag(flags, &f.trusted)
	completeFlag(cmd, "device", devicesHere)
	return cmd
}

// check rejects invalid command lines.
func (f *verifyFlags) check() error {
	if _, err := dlpack.ParseDevice(f.device); err != nil {
		return fmt.Errorf("--device %s: %w", f.device, err)
	}
	for name, v := range map[string]float64{"rtol": f.tol.Rel, "atol": f.tol.Abs} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("--%s %v: give a number from 0, for example 1e-5", name, v)
		}
	}
	if f.limit <= 0 {
		return fmt.Errorf("--timeout %v: give a time above zero, for example 10s", f.limit)
	}
	return nil
}

// verify runs each test vector in its own process. A failure of one vector is its result, not the error.
func (f *verifyFlags) verify(ctx context.Context, file string) (*pack.Report, error) {
	if err := checkModuleFile(file); err != nil {
		return nil, err
	}
	list, problem, err := f.ask(ctx, file, -1)
	switch {
	case err != nil:
		return nil, err
	case problem != "":
		return nil, errors.New(problem)
	}
	report := &pack.Report{File: file, Device: list.Device, Vectors: []pack.Result{}}
	for i, v := range list.Vectors {
		one, problem, err := f.ask(ctx, file, i)
		switch {
		case err != nil:
			return nil, err
		case problem != "":
			v.Error = problem
		default:
			v = one.Vectors[0]
		}
		report.Vectors = append(report.Vectors, v)
	}
	return report, nil
}

// ask lets a child process run a test vector, or list all of them. problem is an error of the file's code.
func (f *verifyFlags) ask(ctx context.Context, file string, vector int) (report *pack.Report, problem string,
	err error) {
	limited, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	var a vectorAnswer
	died, err := runChild(limited, vectorCommand, vectorTask{file, f.device, float64(f.tol.Rel), float64(f.tol.Abs),
		vector}, a.read)
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case err != nil:
		return nil, "", err
	case died != "" && limited.Err() != nil:
		return nil, fmt.Sprintf("no answer within %v: set a longer time with --timeout", f.limit), nil
	case died != "":
		return nil, "its code ended the process: " + died, nil
	case a.Error != "":
		return nil, a.Error, nil
	case a.Report == nil || vector >= 0 && len(a.Report.Vectors) != 1:
		return nil, "its code wrote to the pipe on which the child process answers", nil
	}
	return a.Report, "", nil
}

func writeVerify(w io.Writer, r *pack.Report) error {
	var b strings.Builder
	for _, v := range r.Vectors {
		fmt.Fprintf(&b, "%s, test vector %d on %s: ", v.Function, v.Vector, r.Device)
		switch {
		case v.Error != "":
			fmt.Fprintf(&b, "failed: %s\n", v.Error)
		case v.OK():
			b.WriteString("as expected\n")
		default:
			b.WriteString("differs\n")
		}
		for _, d := range v.Differences {
			b.WriteString(differenceText(&d))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func differenceText(d *pack.Difference) string {
	name := fmt.Sprint(d.Argument)
	if d.Name != "" {
		name += " (" + d.Name + ")"
	}
	what := "differ"
	if d.Const {
		what = "were changed, and it is marked const"
	}
	text := fmt.Sprintf("  argument %s, %s: %d of %d elements %s\n", name, d.Type, d.Differing, d.Elements, what)
	if d.Untouched > 0 && !d.Const {
		text += fmt.Sprintf("    %d of them were not written\n", d.Untouched)
	}
	text += fmt.Sprintf("    first at %s: got %s, want %s\n", strings.ReplaceAll(fmt.Sprint(d.First), " ", ","), d.Got,
		d.Want)
	return text + fmt.Sprintf("    largest difference %.6g, relative %.6g\n", float64(d.MaxAbs), float64(d.MaxRel))
}

// vectorCommand is the hidden command of the child processes of verify: it reads a vectorTask and writes a
// vectorAnswer.
const vectorCommand = "vector-for-verify"

// vectorTask is the task of the child process.
type vectorTask struct {
	File   string  `json:"file"`
	Device string  `json:"device"`
	Rel    float64 `json:"rtol"`
	Abs    float64 `json:"atol"`
	Vector int     `json:"vector"` // -1: list them
}

// vectorAnswer is the result: a report of one vector, or a list of all with only their names.
type vectorAnswer struct {
	Error  string       `json:"error,omitempty"`
	Report *pack.Report `json:"report,omitempty"`
}

// read reads the answer and reports whether it is complete.
func (a *vectorAnswer) read(r io.Reader) bool {
	return json.NewDecoder(io.LimitReader(r, maxAnswers)).Decode(a) == nil
}

func newVectorCommand() *cobra.Command {
	return newChildCommand(vectorCommand, "verify", (*vectorTask).answer)
}

func (t *vectorTask) answer(ctx context.Context, out io.Writer) error {
	var a vectorAnswer
	var err error
	if a.Report, err = t.run(ctx); err != nil {
		a.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(a)
}

func (t *vectorTask) run(ctx context.Context) (*pack.Report, error) {
	dev, err := parseDevice(t.Device)
	if err != nil {
		return nil, err
	}
	m, err := loadModule(ctx, t.File)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if t.Vector < 0 {
		list, err := pack.Vectors(m)
		return &pack.Report{Device: dev.String(), Vectors: list}, err
	}
	result, err := pack.VerifyOne(ctx, m, t.Vector, dev, pack.Tolerance{Rel: t.Rel, Abs: t.Abs})
	if err != nil {
		return nil, err
	}
	return &pack.Report{Device: dev.String(), Vectors: []pack.Result{*result}}, nil
}

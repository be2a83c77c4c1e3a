//go:build cgo && !runtimeonly

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/bench"
	"tvmgo/bench/custom"
	"tvmgo/bench/suite"
)

// benchFlags holds the flags of bench.
type benchFlags struct {
	suites, compare, out []string
	only                 string
	list, verbose        bool
	rounds, largest      int
	confidence, relevant float64
	time, timeout        time.Duration
	longest              time.Duration // of a row of suite kernels
	format               string
	baseline, show       string // files of reports
	trusted              string // file or folder of keys
	kernel               benchKernel
}

func newBenchCommand() *cobra.Command {
	f := benchFlags{confidence: 0.95, relevant: 0.01, timeout: 5 * time.Minute, format: "txt"}
	cmd := &cobra.Command{
		Use:   "bench [FILE... FUNC] [--suite NAME]... [--compare DEVICE,...]",
		Short: "Measure devices, and compare them with each other",
		Long: `Measure operations on devices in alternating rounds, compare the devices, and say
why they differ. Every result is checked before it is timed. The report is
printed on standard output; each --out writes it to a file, whose extension says
how: ` + strings.Join(formatNames(), ", ") + `.

With files, a function of yours is measured: of a library (.so), or a kernel in
OpenCL C, CUDA, SPIR-V or C, or a program (.tir). Each device executes the file
with code for it. Arguments are those of --in, then one array for each --like;
arrays that are left out follow from the signature and --size. This executes
code of the files: use files that you trust.

The measurement runs in a child process. If it crashes, is killed, or exceeds
--timeout in one step, that row has failed and the others are still measured.
Ctrl-C keeps what has been measured: the report is printed and written, and says
that it is incomplete.

The exit status is 1 if an operation fails or has a wrong result, or if
something is slower than in the --baseline, beyond noise.`,
		Example: `  tvmgo bench --compare cpu,opencl:0,vulkan:0
  tvmgo bench --suite compute,bandwidth --compare cuda:0 -o run.json -o run.html
  tvmgo bench --suite all --only 'matmul' --time 2m
  tvmgo bench --baseline run.json
  tvmgo bench --show new.json --baseline old.json -o new.html
  tvmgo bench --suite kernels --list
  tvmgo bench add.so add --in a.npy --in b.npy --like float32[1024] --compare cuda:0,opencl:0,cpu
  tvmgo bench add.cl add.spv --size n=1048576 --figure bandwidth`,
		ValidArgsFunction: filesThenFunction,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.kernel.set(args)
			if name := f.kernel.only(cmd.Flags()); name != "" && len(f.kernel.Files) == 0 {
				return wrongf("--%s is for a function of your own: name its file", name)
			}
			for name, list := range map[string][]string{"suite": f.suites, "compare": f.compare} {
				if cmd.Flags().Changed(name) && len(list) == 0 {
					return wrongf("--%s names nothing: leave it out for the default", name)
				}
			}
			if f.show != "" {
				return f.showReport(cmd.Flags(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			ctx, err := withTrust(cmd.Context(), f.trusted)
			if err != nil {
				return err
			}
			return f.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.suites, "suite", nil,
		"suites or cases: "+strings.Join(append(suite.Names(), suite.All), ", ")+", or suite/case; may be repeated "+
			"(default: some cases of each, about a minute)")
	flags.StringSliceVar(&f.compare, "compare", nil,
		"devices, for example cpu,opencl:0; may be repeated; the first is the base of ratios (default: those present)")
	flags.StringVar(&f.only, "only", "",
		"measure the cases whose suite/case matches a regular expression, and their limits")
	flags.StringVar(&f.baseline, "baseline", "", "older report in JSON: say what has changed since, beyond noise")
	flags.StringVar(&f.show, "show", "", "report in JSON: print and write it in other forms, and measure nothing")
	flags.BoolVar(&f.list, "list", false, "list the cases, and measure nothing")
	flags.StringArrayVarP(&f.out, "out", "o", nil, "file for the report; may be repeated; - is standard output")
	flags.StringVar(&f.format, "format", f.format, "format of standard output: "+strings.Join(formatNames(), ", "))
	flags.IntVar(&f.rounds, "rounds", 0, "samples of each row, at most (default 21)")
	flags.DurationVar(&f.time, "time", 0, "time for the whole run, about; cases for which it is too short are left out")
	flags.DurationVar(&f.timeout, "timeout", f.timeout, "time limit of a step, such as a check: the row has then failed")
	flags.IntVar(&f.largest, "largest", 0, "leave out products of matrices with more rows (default: none)")
	flags.DurationVar(&f.longest, "longest", suite.DefaultLongest,
		"do not measure rows of suite kernels that would take longer")
	flags.Float64Var(&f.confidence, "confidence", f.confidence, "confidence of intervals, from 0.5")
	flags.Float64Var(&f.relevant, "relevant", f.relevant,
		"smallest share by which something must be slower than in the baseline")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each row on standard error when it has been measured")
	f.kernel.define(flags)
	trustedKeysFlag(flags, &f.trusted)
	completeFlagBy(cmd, "like", completeLike)
	completeFlag(cmd, "figure", func([]string) []string { return []string{"time", "bandwidth", "flops", "integer"} })
	completeFlag(cmd, "target", targetFlag)
	completeFlag(cmd, "suite", func([]string) []string { return append(suite.Names(), suite.All) })
	completeFlag(cmd, "compare", devicesHere)
	completeFlag(cmd, "format", func([]string) []string { return formatNames() })
	return cmd
}

// defaultSuites are measured if --suite is absent. With their limits they take about a minute.
var defaultSuites = []string{"launch/kernel_launch_latency", "launch/kernel_launch_queued",
	"bandwidth/host_to_device_memcpy_ce_64MiB", "bandwidth/device_to_host_memcpy_ce_64MiB", "bandwidth/global",
	"compute/fp32-vec4", "kernels/add", "kernels/reduction", "kernels/softmax", "kernels/matmul-f32-1024"}

// check rejects invalid command lines, and returns what is to be measured.
func (f *benchFlags) check() (*benchTask, error) {
	t := &benchTask{Suites: f.suites, Only: f.only, Largest: f.largest, Longest: f.longest,
		Devices: f.compare, List: f.list,
		Config: bench.Config{Rounds: f.rounds, Confidence: f.confidence, Relevant: f.relevant}}
	if len(f.kernel.Files) > 0 {
		t.Kernel = &f.kernel
	}
	for _, file := range f.kernel.Files {
		if f.trusted != "" && filepath.Ext(file) != ".so" {
			return nil, wrongf("--%s: %s is not loaded but compiled here: name a library (.so), or check it by sign --verify",
				trustedKeysName, file)
		}
	}
	switch {
	case f.kernel.Function != "" && t.Kernel == nil:
		return nil, wrongf("%s is not a file: name the file before the function", f.kernel.Function)
	case len(t.Suites) == 0 && t.Kernel == nil:
		t.Suites = defaultSuites
		if f.only != "" {
			t.Suites = []string{suite.All}
		}
	}
	const mostRounds = 100_000
	switch {
	case f.rounds < 0 || f.rounds > mostRounds:
		return nil, wrongf("--rounds %d: give a number from 1 to %d", f.rounds, mostRounds)
	case f.time < 0:
		return nil, wrongf("--time %v: give a time above zero, for example 2m", f.time)
	case f.largest < 0:
		return nil, wrongf("--largest %d: give a number of rows, for example 2048", f.largest)
	case f.longest < 0:
		return nil, wrongf("--longest %v: give a time above zero, for example 10m", f.longest)
	case f.timeout <= 0:
		return nil, wrongf("--timeout %v: give a time above zero, for example 10s", f.timeout)
	case math.IsNaN(f.confidence) || f.confidence < 0.5 || f.confidence >= 1:
		return nil, wrongf("--confidence %v: give a number from 0.5 to 0.999", f.confidence)
	case !(f.relevant > 0 && f.relevant <= 10):
		return nil, wrongf("--relevant %v: give a share above zero, for example 0.03", f.relevant)
	}
	for _, l := range []struct {
		name    string
		value   float64
		without float64 // if the flag is absent
	}{{"rtol", f.kernel.Rel, -1}, {"atol", f.kernel.Abs, -1}, {"ops", f.kernel.Ops, 0}} {
		if l.value != l.without && (!(l.value >= 0) || math.IsInf(l.value, 0)) {
			return nil, wrongf("--%s %v: give a number from 0", l.name, l.value)
		}
	}
	if _, err := formatOf("." + f.format); err != nil {
		return nil, wrongf("--format %s: %w", f.format, err)
	}
	return t, nil
}

func (f *benchFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	task, err := f.check()
	if err != nil {
		return err
	}
	files, err := newReportFiles(f.out)
	if err != nil {
		return err
	}
	r := &benchRun{task: *task, limit: f.timeout}
	r.watcher = newBenchWatcher(stderr, f.verbose, func(p *benchPlan) string {
		r.task.Config.Case, r.task.Config.WarmUp = f.times(p)
		return planText(p, f.about(p))
	})
	old, err := readReport("baseline", f.baseline)
	if err != nil {
		return err
	}
	began := time.Now()
	if f.time > 0 {
		r.task.Until = began.Add(f.time)
	}
	machine := bench.ThisMachine() // with its load before the run
	ended, err := r.measure(ctx)
	r.watcher.end()
	switch {
	case err != nil:
		return err
	case r.plan == nil: // interrupted
		return context.Cause(ctx)
	case f.list:
		return writePlan(stdout, r.plan)
	}
	report := &bench.Report{Schema: bench.Schema, Started: began.UTC().Truncate(time.Second), Took: time.Since(began),
		Machine: machine, Devices: r.plan.Devices, Rows: r.rows, Ended: ended}
	if report.Config, err = r.task.Config.WithDefaults(); err != nil {
		return err
	}
	bench.Evaluate(report)
	slower := f.compareWith(old, report, stderr)
	err = errors.Join(files.write(report), f.print(stdout, report))
	if interrupted := context.Cause(ctx); interrupted != nil {
		return errors.Join(interrupted, err)
	}
	return errors.Join(err, failedRows(report), slower)
}

// failedRows returns an error that names the rows that failed, or had a wrong result. It is an error, too, if nothing
// was measured, or no row of the user's function.
func failedRows(r *bench.Report) error {
	var names []string
	measured, own, ownMeasured := 0, 0, 0
	for _, row := range r.Rows {
		if row.Suite == custom.Suite {
			own++
			if row.Status == bench.Measured {
				ownMeasured++
			}
		}
		switch row.Status {
		case bench.Failed, bench.Wrong:
			names = append(names, row.ID()+": "+string(row.Status))
		case bench.Measured:
			measured++
		}
	}
	switch {
	case len(names) == 1:
		return errors.New(names[0])
	case len(names) > 1:
		return fmt.Errorf("%d of %d rows have no result, first %s", len(names), len(r.Rows), names[0])
	case measured == 0 && r.Ended == "":
		return errors.New("nothing was measured: the report has the reasons")
	case r.Ended != "":
		return errors.New(r.Ended)
	case own > 0 && ownMeasured == 0:
		return errors.New("your function was measured on no device: the report has the reasons")
	}
	return nil
}

// writePlan lists cases.
func writePlan(w io.Writer, p *benchPlan) error {
	var b strings.Builder
	for _, k := range p.Cases {
		fmt.Fprintf(&b, "%-36s %-7s %s\n", k.ID, k.Figure.Unit(), k.Doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// times returns the time of a case, and of the warm-up of a row; 0 for the defaults.
func (f *benchFlags) times(p *benchPlan) (of, warmUp time.Duration) {
	if f.time == 0 || len(p.Cases) == 0 || len(p.Devices) == 0 {
		return 0, 0
	}
	each := f.time / time.Duration(len(p.Cases))
	return max(each*2/3, time.Millisecond), max(each/3/time.Duration(len(p.Devices)), time.Millisecond)
}

// about returns the time that a plan needs.
func (f *benchFlags) about(p *benchPlan) time.Duration {
	if f.time > 0 {
		return f.time
	}
	rows := 0
	for _, k := range p.Cases {
		rows += k.Variants * len(p.Devices)
	}
	const row = 700 * time.Millisecond // preparing, checking, warming up and measuring
	return time.Duration(rows) * row
}

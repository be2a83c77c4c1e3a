// Command compare compares libtvmgo.so with the libraries of Apache TVM's wheels in alternating rounds of one run. It
// prints a table of medians and targets. Run it in the root of the repository, after make dist and
// build/scripts/deps.sh; make bench does all three.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"tvmgo/dlpack"
)

type config struct {
	lib, venv, dir, out string
	rounds              int
	sample              time.Duration
	only                string
	check, markdown     bool
	from                string
}

func main() {
	if os.Getenv(firstTarget) != "" {
		printFirstTarget()
		return
	}
	serve := map[string]func([]string) error{operatorsCommand: serveOperators, kernelsCommand: serveKernels,
		sameCommand: serveSame, echoCommand: sendBack, spinCommand: spin}
	if len(os.Args) > 1 && serve[os.Args[1]] != nil {
		if err := serve[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var c config
	flag.StringVar(&c.lib, "lib", "dist/lib/libtvmgo.so", "library to compare with Apache TVM's")
	flag.StringVar(&c.venv, "venv", "build/.cache/venv", "virtual environment with Apache TVM's wheels")
	flag.StringVar(&c.dir, "dir", "build/.cache/bench", "folder for the programs")
	flag.StringVar(&c.out, "out", "bench/results", `folder for the result file; "" writes none`)
	flag.StringVar(&c.only, "only", "", "measure only rows whose name matches this expression; writes no file")
	flag.BoolVar(&c.check, "check", false, "measure rows that miss their targets again, and fail if one still misses; "+
		"writes no file")
	flag.StringVar(&c.from, "from", "", "a result file, whose rows are shown or checked without measuring")
	flag.BoolVar(&c.markdown, "markdown", false, "print the table in Markdown, as in bench/README.md")
	flag.IntVar(&c.rounds, "rounds", 21, "alternating rounds")
	flag.DurationVar(&c.sample, "sample", 5*time.Millisecond, "minimal duration of a sample")
	flag.Parse()
	if err := compare(c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func compare(c config) error {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	var rows []row
	for _, r := range table {
		if only.MatchString(r.ID) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("no row matches -only %q", c.only)
	}
	var r *report
	if c.from != "" {
		r, err = readReport(c.from, rows)
	} else {
		r, err = measureRows(c, rows)
	}
	if err != nil {
		return err
	}
	if c.markdown {
		r.markdown(os.Stdout, known)
	} else {
		r.print(os.Stdout, known)
	}
	if c.check {
		return r.conclude(os.Stdout, known)
	}
	if c.only != "" || c.from != "" {
		return nil
	}
	if c.out != "" {
		if err := r.write(c.out); err != nil {
			return err
		}
	}
	return printCard(os.Stdout, "bench/results")
}

// measureRows measures rows, for a check those that miss their targets once more.
func measureRows(c config, rows []row) (*report, error) {
	p, err := build(c.dir, c.lib, c.venv)
	if err != nil {
		return nil, err
	}
	m := describe(c.venv)
	if load, busy := m.busy(); busy {
		fmt.Fprintf(os.Stderr, "warning: the load is %.2f; figures are doubtful above %g\n", load, tooBusy)
	}
	s, err := newSampler(p, c)
	if err != nil {
		return nil, err
	}
	without := s.models.missing()
	measure := func(rows []row, rounds int) (*report, error) {
		needed := map[string]bool{}
		for _, r := range rows {
			if !isOfModels(r.Ours) || without == nil {
				maps.Copy(needed, neededFor(r))
			}
		}
		results, err := s.measure(needed, rounds)
		if err != nil {
			return nil, err
		}
		return newReport(m, c, rows, results, s.goAPI.allocs, without), nil
	}
	r, err := measure(rows, c.rounds)
	if err != nil || !c.check {
		return r, err
	}
	later, err := r.measureAgain(known, measure)
	if err == nil && later != nil {
		r.replace(later)
	}
	return r, err
}

// sampler measures any row.
type sampler struct {
	p           *programs
	dir         string
	programArgs []string
	ours, peer  *program // of the current group
	goAPI       *goAPI
	operators   operatorPrograms
	kernels     kernelPrograms
	models      modelPrograms
	served      *servePrograms
}

// Modules exported for OpenCL, and for CUDA with PTX.
const (
	openCLSO = "testdata/artifacts/modern/gpu_opencl.so"
	cudaSO   = "testdata/artifacts/modern/gpu_cuda_ptx.so"
	stepSPV  = "runtime/vulkan/testdata/two.spv"
	relaxSO  = "testdata/artifacts/modern/relax_mlp.so"
)

func newSampler(p *programs, c config) (*sampler, error) {
	const artifacts = "testdata/artifacts/modern/"
	g, err := newGoAPI(artifacts+"addone_llvm.so", c.sample)
	if err != nil {
		return nil, err
	}
	o := operatorPrograms{p: p, sample: fmt.Sprint(c.sample.Nanoseconds()), venv: c.venv, of: map[string]*program{}}
	k := kernelPrograms{sample: o.sample, of: map[string]*program{}}
	models, err := newModelPrograms(p, c, o.sample)
	if err != nil {
		return nil, err
	}
	return &sampler{p: p, dir: c.dir, goAPI: g, operators: o, kernels: k, models: models,
		served: newServePrograms(&models), programArgs: []string{o.sample, artifacts + "addone_llvm.so",
			artifacts + "multi_llvm.so", artifacts + "multi_c.so", p.blob1K, p.blob64M}}, nil
}

// start begins a group, or a round of it, with a new process for each library, so that earlier rows have no influence:
// open files, spinning threads.
func (s *sampler) start() (err error) {
	if s.ours, err = startProgram(s.p.ours, append(s.programArgs, s.p.oursThrow, openCLSO, cudaSO, s.p.vulkanSO,
		stepSPV, s.p.fat, relaxSO, s.p.chain)...); err != nil {
		return err
	}
	s.peer, err = startProgram(s.p.peer, append(s.programArgs, s.p.peerThrow, openCLSO, cudaSO, s.p.vulkanSO, stepSPV,
		s.p.fat, relaxSO, s.p.chain)...)
	return err
}

func (s *sampler) stop() error {
	return errors.Join(s.ours.close(), s.peer.close(), s.operators.close(), s.kernels.close(),
		s.models.close(), s.served.close())
}

func (s *sampler) sample(measure string) (float64, error) {
	const small = "testdata/artifacts/modern/multi_llvm.so"
	switch measure {
	case "go.bound":
		return s.goAPI.boundCall()
	case "go.empty":
		return s.goAPI.emptyCall()
	case "go.cl-launch":
		return s.goAPI.boundLaunch(dlpack.OpenCL, openCLSO)
	case "go.cu-launch":
		return s.goAPI.boundLaunch(dlpack.CUDA, cudaSO)
	case "go.target-new":
		return targetNew()
	case "go.target-read":
		return targetRead()
	case "go.target-get":
		return targetGet()
	case "go.target-first":
		return targetFirst()
	case "ours.start":
		return wallTime(s.p.oursStart, small)
	case "peer.start":
		return wallTime(s.p.peerStart, small)
	case "ours.open":
		return figure(processesPerSample, s.p.open, s.p.oursLib)
	case "peer.open":
		return figure(processesPerSample, s.p.open, s.p.peerLibs...)
	case "peer.open-ffi":
		return figure(processesPerSample, s.p.open, s.p.peerLibs[0])
	case "ours.size":
		return strippedSize(s.dir, s.p.oursLib)
	case "peer.size":
		return strippedSize(s.dir, s.p.peerLibs...)
	case "runtime.size":
		return runtimeSize(s.dir, s.p.oursLib)
	case "floor.size":
		return floorSize(s.dir, floorSource)
	case "floor-fmt.size":
		return floorSize(s.dir, floorFmtSource)
	}
	who, row, _ := strings.Cut(measure, ".")
	if what, is := strings.CutPrefix(row, "weights-"); is {
		program := s.p.oursWeights
		if who == "peer" {
			program = s.p.peerWeights
		}
		return figure(1, program, what, s.p.chain, s.p.weights)
	}
	switch strings.TrimPrefix(who, "busy-") {
	case "ours":
		return s.ours.sample(row)
	case "te", "numpy":
		if program, is := strings.CutPrefix(row, "build-"); is {
			return compileTime(program)
		}
		return s.operators.ask(who, row)
	case "opencl", "vulkan":
		return s.kernels.ask(who, row)
	case "model", "ort":
		return s.models.ask(who, row)
	case "serve":
		return s.served.ask(row)
	}
	return s.peer.sample(row)
}

// measure returns the medians of alternating rounds of every group.
func (s *sampler) measure(needed map[string]bool, rounds int) (map[string]summary, error) {
	results := map[string]summary{}
	var err error
	for i, g := range groups {
		fmt.Fprintf(os.Stderr, "\r%d/%d ", i+1, len(groups))
		if !g.isNeeded(needed) {
			continue
		}
		if err = s.start(); err != nil {
			return nil, err
		}
		var others spinners
		if g.busy {
			if others, err = startSpinners(); err != nil {
				return nil, errors.Join(err, s.stop())
			}
		}
		samples, err := s.alternate(g, needed, rounds)
		if err := errors.Join(err, others.stop(), s.stop()); err != nil {
			return nil, err
		}
		for m, v := range samples {
			results[m] = summarize(v)
		}
	}
	fmt.Fprint(os.Stderr, "\r")
	for m := range needed {
		if strings.HasSuffix(m, ".size") {
			v, err := s.sample(m)
			if err != nil {
				return nil, err
			}
			results[m] = summarize([]float64{v})
		}
	}
	derive(results)
	return results, nil
}

// alternate measures a group round by round. The first round, in which every measure also determines its number of
// repetitions, does not count.
func (s *sampler) alternate(g group, needed map[string]bool, rounds int) (map[string][]float64, error) {
	samples := map[string][]float64{}
	if g.few {
		rounds = min(rounds, max(3, rounds/7))
	}
	for round := range rounds + 1 {
		if g.afresh && round > 0 && g.isNeeded(needed) {
			if err := errors.Join(s.stop(), s.start()); err != nil {
				return nil, err
			}
		}
		order := slices.Clone(g.measures)
		if round%2 == 1 { // so that the order has no influence
			slices.Reverse(order)
		}
		for _, m := range order {
			if !needed[m] {
				continue
			}
			if g.quiet {
				time.Sleep(5 * time.Millisecond)
			}
			v, err := s.sample(m)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				samples[m] = append(samples[m], v)
			}
		}
	}
	return samples, nil
}

// Command measure compares kernels that package te/ops schedules for a device with kernels that are written by hand, in
// alternating rounds of one run; on a GPU with copies of the device, and with cuBLAS. Package bench/kernels describes
// the rows and their files.
//
//	measure -on opencl -only '^add$'                   on a driver that runs kernels on the CPU
//	measure -gpu -write DIR -target 'nvidia/h100'      libraries for a machine without Go
//	measure -gpu -on cuda -from DIR -json cuda.json    that machine
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tvmgo/bench/kernels"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
)

type config struct {
	on, targets, only, write, from, json, svg string
	rounds, quarter                           int
	sample                                    time.Duration
	cpu, gpu                                  bool
}

func main() {
	var c config
	flag.StringVar(&c.on, "on", "opencl", "device, such as opencl or cuda:1")
	flag.StringVar(&c.targets, "target", "", "targets of one kind, separated by semicolons, instead of the device's own")
	flag.StringVar(&c.only, "only", "", "only cases whose name matches this expression")
	flag.StringVar(&c.write, "write", "", "only write the libraries for the targets, to this folder")
	flag.StringVar(&c.from, "from", "", "folder of libraries that -write made")
	flag.StringVar(&c.json, "json", "", "write the result to this file")
	flag.StringVar(&c.svg, "svg", "", "draw the result to this file")
	flag.IntVar(&c.rounds, "rounds", 21, "alternating rounds")
	flag.IntVar(&c.quarter, "quarter", 0, "with -gpu: divide the sizes of arrays by 4 so many times, to try it out")
	flag.DurationVar(&c.sample, "sample", 20*time.Millisecond, "minimal duration of a sample")
	flag.BoolVar(&c.cpu, "cpu", false, "measure the CPU time of the process")
	flag.BoolVar(&c.gpu, "gpu", false, "the cases for GPUs")
	flag.Parse()
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// row is a result. Times are medians of the rounds in nanoseconds.
type row struct {
	Case      string     `json:"case"`
	Base      kernels.By `json:"base,omitempty"`
	Generated float64    `json:"generated_ns,omitempty"`
	BaseTime  float64    `json:"base_ns,omitempty"`
	Rate      float64    `json:"generated_gb_s,omitempty"` // bytes per nanosecond: each array read or written once
	BaseRate  float64    `json:"base_gb_s,omitempty"`
	TFlops    float64    `json:"generated_tflops,omitempty"`
	Speed     float64    `json:"speed,omitempty"` // relative to the base: of bytes, or of calls
	Missing   string     `json:"not_measured,omitempty"`

	least map[kernels.By]float64
}

func (c *config) run(ctx context.Context) error {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	cases := kernels.OnCPU
	if c.gpu {
		cases = kernels.OnGPU(c.quarter)
	}
	cases = slices.DeleteFunc(slices.Clone(cases), func(k kernels.Case) bool { return !only.MatchString(k.Name) })
	var targets []*target.Target
	for _, text := range strings.Split(c.targets, ";") {
		if text = strings.TrimSpace(text); text != "" {
			t, err := target.New(text)
			if err != nil {
				return err
			}
			targets = append(targets, t)
		}
	}
	if c.write != "" {
		return c.writeAll(ctx, targets, cases)
	}
	device, err := dlpack.ParseDevice(c.on)
	if err != nil {
		return err
	}
	if c.from == "" {
		if len(targets) == 0 {
			t, err := runtime.DetectTarget(device)
			if err != nil {
				return err
			}
			targets = append(targets, t)
		}
		if c.from, err = os.MkdirTemp("", "measure"); err != nil {
			return err
		}
		defer os.RemoveAll(c.from)
	}
	if err := c.notCPU(device); err != nil {
		return err
	}
	var rows []row
	var failed error
	for _, k := range cases {
		r, err := c.compare(ctx, targets, k, device)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", k.Name, err))
			continue
		}
		rows = append(rows, r)
		fmt.Fprintf(os.Stderr, "%s %.2f %s\n", r.Case, r.Speed, r.Missing)
	}
	return errors.Join(failed, c.report(device, rows))
}

// notCPU returns an error for the cases of a GPU at their full sizes on a driver that runs kernels on the CPU.
func (c *config) notCPU(device dlpack.Device) error {
	if !c.gpu || c.quarter > 0 {
		return nil
	}
	own, err := runtime.DetectTarget(device)
	if err != nil {
		return err
	}
	if own.Attrs()["device_type"] == "cpu" {
		return fmt.Errorf("%v is a CPU, on which the cases for GPUs take too long: make them smaller by -quarter", device)
	}
	return nil
}

// bases returns what a case is compared with, and which of it has a library.
func (c *config) bases(kind string, k kernels.Case) (base kernels.By, library bool) {
	switch {
	case c.gpu:
		return k.Base, k.Base == kernels.Read
	case kernels.HasHand(kind, k):
		return kernels.ByHand, true
	}
	return "", false
}

func (c *config) writeAll(ctx context.Context, targets []*target.Target, cases []kernels.Case) error {
	if len(targets) == 0 {
		return errors.New("-write needs -target")
	}
	for _, k := range cases {
		if err := kernels.Write(ctx, c.write, targets, k, kernels.Generated); err != nil {
			return err
		}
		if base, library := c.bases(targets[0].Kind().Name(), k); library {
			if err := kernels.Write(ctx, c.write, targets, k, base); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare measures a case in alternating rounds.
func (c *config) compare(ctx context.Context, targets []*target.Target, k kernels.Case,
	device dlpack.Device) (r row, err error) {
	r.Case, r.least = k.Name, map[kernels.By]float64{}
	arrays, err := kernels.NewArrays(k, device)
	if err != nil {
		return r, err
	}
	defer arrays.Close()
	timer := kernels.Timer(kernels.Wall)
	if c.cpu {
		timer = kernels.CPU
	}
	base, library := c.bases(device.Type.String(), k)
	opened, samples := map[kernels.By]*kernels.Kernel{}, map[kernels.By][]float64{}
	var by []kernels.By
	for _, b := range []kernels.By{kernels.Generated, base} {
		if b == "" {
			continue
		}
		if len(targets) > 0 && (library || b == kernels.Generated) {
			if err := kernels.Write(ctx, c.from, targets, k, b); err != nil {
				return r, err
			}
		}
		opened[b], err = kernels.Open(ctx, c.from, arrays, b)
		if err != nil && b == base { // no cuBLAS, or no compiler for a kernel by hand
			r.Missing = err.Error()
			continue
		}
		if err != nil {
			return r, err
		}
		if err := opened[b].Check(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", b, err)
		}
		by = append(by, b)
	}
	for range c.rounds {
		for _, b := range by {
			ns, err := opened[b].Sample(ctx, timer, c.sample)
			if err != nil {
				return r, err
			}
			samples[b] = append(samples[b], ns)
		}
		slices.Reverse(by)
	}
	median := func(b kernels.By) float64 {
		slices.Sort(samples[b])
		r.least[b] = samples[b][0]
		return samples[b][len(samples[b])/2]
	}
	rate := func(b kernels.By, ns float64) float64 { return float64(opened[b].Bytes) / ns }
	r.Generated = median(kernels.Generated)
	r.Rate, r.TFlops = rate(kernels.Generated, r.Generated), 0
	if !k.Moves {
		r.TFlops = k.Ops / r.Generated / 1e3
	}
	if len(samples[base]) == 0 {
		return r, nil
	}
	r.Base, r.BaseTime = base, median(base)
	r.BaseRate = rate(base, r.BaseTime)
	if r.Speed = r.Rate / r.BaseRate; !k.Moves {
		r.Speed = r.BaseTime / r.Generated
	}
	return r, nil
}

func (c *config) report(device dlpack.Device, rows []row) error {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	fmt.Printf("%v, %d rounds, load %s", device, c.rounds, load)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tgenerated\tleast\tbase\tits time\tleast\tspeed\t")
	ms := func(ns float64) string { return fmt.Sprintf("%.3f ms", ns/1e6) }
	for _, r := range rows {
		if r.Base == "" {
			fmt.Fprintf(w, "%s\t%s\t%s\tnot measured\t\t\t%s\t\n", r.Case, ms(r.Generated), ms(r.least[kernels.Generated]),
				r.Missing)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t\n", r.Case, ms(r.Generated), ms(r.least[kernels.Generated]), r.Base,
			ms(r.BaseTime), ms(r.least[r.Base]), r.Speed)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if c.svg != "" {
		if err := os.WriteFile(c.svg, picture(device.String(), rows), 0o666); err != nil {
			return err
		}
	}
	if c.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(map[string]any{"device": device.String(), "rounds": c.rounds, "rows": rows}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.json, append(text, '\n'), 0o666)
}

// Command measure compares kernels that package te/ops schedules for a device with kernels that are written by hand, in
// alternating rounds of one run. Package bench/kernels describes the rows and their files.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"text/tabwriter"
	"time"

	"tvmgo/bench/kernels"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
)

type config struct {
	on, target, only, write, from, json string
	rounds                              int
	sample                              time.Duration
	cpu                                 bool
}

func main() {
	var c config
	flag.StringVar(&c.on, "on", "opencl", "device: opencl or vulkan, with a number after a colon if it is not the first")
	flag.StringVar(&c.target, "target", "", "target of generated kernels, instead of what the device reports")
	flag.StringVar(&c.only, "only", "", "only cases whose name matches this expression")
	flag.IntVar(&c.rounds, "rounds", 21, "alternating rounds")
	flag.DurationVar(&c.sample, "sample", 20*time.Millisecond, "minimal duration of a sample")
	flag.BoolVar(&c.cpu, "cpu", false, "measure the CPU time of the process")
	flag.StringVar(&c.json, "json", "", "write the result to this file")
	flag.Parse()
	if err := measure(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// row is a result. Times are nanoseconds: medians, and the least.
type row struct {
	Case      string  `json:"case"`
	Generated float64 `json:"generated_ns"`
	ByHand    float64 `json:"by_hand_ns,omitempty"`
	Speed     float64 `json:"speed,omitempty"` // of the generated kernel, relative to that by hand
	Least     struct {
		Generated, ByHand float64
	} `json:"least_ns"`
}

func measure(ctx context.Context, c config) error {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	device, err := dlpack.ParseDevice(c.on)
	if err != nil {
		return err
	}
	var t *target.Target
	if c.target != "" {
		t, err = target.New(c.target)
	} else {
		t, err = runtime.DetectTarget(device)
	}
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "measure")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var rows []row
	for _, k := range kernels.OnCPU {
		if !only.MatchString(k.Name) {
			continue
		}
		r, err := c.compare(ctx, folder, t, k, device)
		if err != nil {
			return err
		}
		rows = append(rows, r)
		fmt.Fprintf(os.Stderr, "%s %.2f\n", r.Case, r.Speed)
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%v, %v, %d rounds, load %s", device, t, c.rounds, load)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tgenerated\tby hand\tspeed\tleast\tleast by hand\tspeed")
	for _, r := range rows {
		ms := func(ns float64) string { return fmt.Sprintf("%.3f ms", ns/1e6) }
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%s\t%.2f\n", r.Case, ms(r.Generated), ms(r.ByHand), r.Speed,
			ms(r.Least.Generated), ms(r.Least.ByHand), r.Least.ByHand/r.Least.Generated)
	}
	if err := w.Flush(); err != nil || c.json == "" {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{"device": device.String(), "target": t, "rows": rows}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.json, text, 0o666)
}

// compare measures a case in alternating rounds.
func (c *config) compare(ctx context.Context, folder string, t *target.Target, k kernels.Case,
	device dlpack.Device) (r row, err error) {
	r.Case = k.Name
	arrays, err := kernels.NewArrays(k, device)
	if err != nil {
		return r, err
	}
	defer arrays.Close()
	timer := kernels.Timer(kernels.Wall)
	if c.cpu {
		timer = kernels.CPU
	}
	by := []kernels.By{kernels.Generated}
	if kernels.HasHand(t.Kind().Name(), k) {
		by = append(by, kernels.ByHand)
	}
	opened, samples := map[kernels.By]*kernels.Kernel{}, map[kernels.By][]float64{}
	for _, b := range by {
		if err := kernels.Write(ctx, folder, t, k, b); err != nil {
			return r, err
		}
		if opened[b], err = kernels.Open(ctx, folder, arrays, b); err != nil {
			return r, err
		}
		if err := opened[b].Check(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", b, err)
		}
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
	g, h := samples[kernels.Generated], samples[kernels.ByHand]
	slices.Sort(g)
	r.Generated, r.Least.Generated = g[len(g)/2], g[0]
	if len(h) > 0 {
		slices.Sort(h)
		r.ByHand, r.Least.ByHand = h[len(h)/2], h[0]
		r.Speed = r.ByHand / r.Generated
	}
	return r, nil
}

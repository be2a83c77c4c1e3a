//go:build cgo && !runtimeonly

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/bench/suite"
	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
	"tvmgo/runtime"
)

// benchTask is what a child process of bench measures.
type benchTask struct {
	Suites  []string     `json:"suites"`
	Kernel  *benchKernel `json:"kernel"`  // nil: none
	Only    string       `json:"only"`    // a regular expression; "" for all
	Devices []string     `json:"devices"` // none: those that are present
	Config  bench.Config `json:"config"`
	Until   time.Time    `json:"until"` // no case begins later; zero for no limit
	List    bool         `json:"list"`  // only the plan

	// Options of suite kernels.
	Largest int           `json:"largest"`
	Longest time.Duration `json:"longest"`

	// For a process that takes over from one that has ended:
	Done []string                     `json:"done"` // cases
	Lost map[string]map[string]string `json:"lost"` // case, device and why it is not measured there
}

// benchPlan is what a task measures.
type benchPlan struct {
	Devices []bench.DeviceInfo `json:"devices"`
	Cases   []benchCase        `json:"cases"`
}

// benchCase describes a case of the plan.
type benchCase struct {
	ID       string       `json:"id"`
	Doc      string       `json:"doc"`
	Figure   bench.Figure `json:"figure"`
	Variants int          `json:"variants"`
}

// benchPlace is the step that a child process executes. The parent reads it from a file that both have open, also when
// the child has ended: a message for each step would disturb what is measured.
type benchPlace struct {
	Case   string      `json:"case"`
	Device string      `json:"device"`
	Stage  bench.Stage `json:"stage"`
	Round  int         `json:"round"`
	Rounds int         `json:"rounds"`
}

// benchMessage is a line that a child process writes: one of these.
type benchMessage struct {
	Plan  *benchPlan   `json:"plan,omitempty"`
	Rows  []*bench.Row `json:"rows,omitempty"` // of a case that has ended
	Error string       `json:"error,omitempty"`
	Usage bool         `json:"usage,omitempty"` // the error is about the command line
	Done  bool         `json:"done,omitempty"`  // everything was measured
}

// benchCommand is the hidden command of the child process. It reads a benchTask, and ends when its standard input does.
const benchCommand = "measure-for-bench"

// placeFile is where the child process writes its benchPlace.
const placeFile = 4

// placeSize is the size of the text in placeFile, which is padded with spaces.
const placeSize = 512

func newBenchChildCommand() *cobra.Command {
	return newChildCommand(benchCommand, "bench", (*benchTask).answer)
}

func (t *benchTask) answer(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	places := os.NewFile(placeFile, "place")
	defer places.Close()
	send := json.NewEncoder(out).Encode
	err := t.measure(ctx, func(m benchMessage) { _ = send(m) }, func(p benchPlace) {
		text, _ := json.Marshal(p)
		_, _ = places.WriteAt(fmt.Appendf(nil, "%-*s", placeSize, text), 0)
	})
	if ctx.Err() != nil { // by a signal to this process alone, perhaps: another one goes on
		return ctx.Err()
	}
	if err != nil {
		return send(benchMessage{Error: err.Error(), Usage: isUsage(err)})
	}
	return send(benchMessage{Done: true})
}

// measure sends the plan, and the rows of each case.
func (t *benchTask) measure(ctx context.Context, send func(benchMessage), at func(benchPlace)) error {
	cases, err := t.cases()
	if err != nil {
		return wrong(err)
	}
	var devices []*bench.Device
	if !t.List || len(t.Devices) > 0 {
		if devices, err = openDevices(t.Devices, at); err != nil {
			return err
		}
	}
	defer func() {
		for _, d := range devices {
			_ = facts.Close(d)
		}
	}()
	plan := &benchPlan{}
	for _, d := range devices {
		plan.Devices = append(plan.Devices, bench.DeviceInfo{Name: d.Name, Title: d.Title, Facts: d.Facts})
	}
	for _, k := range cases {
		plan.Cases = append(plan.Cases, benchCase{k.ID(), k.Doc, k.Figure, len(k.Variants)})
	}
	send(benchMessage{Plan: plan})
	if t.List {
		return nil
	}
	cases = slices.DeleteFunc(slices.Clone(cases), func(k *bench.Case) bool { return slices.Contains(t.Done, k.ID()) })
	for i, k := range cases {
		cases[i] = t.guarded(k)
	}
	config := t.Config
	config.Finished = func(rows []*bench.Row) { send(benchMessage{Rows: rows}) }
	config.Progress = func(p bench.Progress) {
		at(benchPlace{p.Case.ID(), p.Device, p.Stage, p.Round, p.Rounds})
	}
	_, err = bench.Run(ctx, config, cases, devices)
	return err
}

// guarded returns a case that is not measured where that has ended a process, or when the time is over.
func (t *benchTask) guarded(k *bench.Case) *bench.Case {
	copied := *k
	copied.Variants = slices.Clone(k.Variants)
	for i, v := range copied.Variants {
		copied.Variants[i].Open = func(ctx context.Context, on *bench.Device) (bench.Work, error) {
			if why := t.Lost[k.ID()][on.Name]; why != "" {
				return nil, errors.New(why)
			}
			if !t.Until.IsZero() && time.Now().After(t.Until) {
				return nil, fmt.Errorf("%w: the time for the run (--time) was over", bench.ErrNotMeasured)
			}
			return v.Open(ctx, on)
		}
	}
	return &copied
}

// selectCases returns the cases of suites. Tests replace it.
var selectCases = suite.Select

// cases returns the selected cases, with their limits.
func (t *benchTask) cases() ([]*bench.Case, error) {
	cases, err := t.suiteCases()
	if err != nil || t.Kernel == nil {
		return cases, err
	}
	own, err := t.Kernel.cases()
	if err != nil {
		return nil, err
	}
	for _, k := range own { // a limit may be selected already
		if !slices.ContainsFunc(cases, func(other *bench.Case) bool { return other.ID() == k.ID() }) {
			cases = append(cases, k)
		}
	}
	return cases, nil
}

func (t *benchTask) suiteCases() ([]*bench.Case, error) {
	cases, err := selectCases(t.Suites,
		suite.Options{WithoutLimits: t.Only != "", Largest: t.Largest, Longest: t.Longest})
	if err != nil {
		return nil, fmt.Errorf("--suite: %w", err)
	}
	if t.Only == "" {
		return cases, nil
	}
	only, err := regexp.Compile(t.Only)
	if err != nil {
		return nil, fmt.Errorf("--only %s: %w", t.Only, err)
	}
	var ids, all []string
	for _, k := range cases {
		all = append(all, k.ID())
		if only.MatchString(k.ID()) {
			ids = append(ids, k.ID())
		}
	}
	if len(ids) == 0 {
		text := fmt.Sprintf("--only %s matches none of the %s of %s", t.Only, count(len(all), "case"),
			strings.Join(t.Suites, ", "))
		if near := nearest.Name(t.Only, all); near != "" {
			return nil, fmt.Errorf("%s: did you mean %q?", text, near)
		}
		return nil, fmt.Errorf("%s: --list prints them", text)
	}
	return selectCases(ids, suite.Options{Longest: t.Longest})
}

// openDevices opens the devices with the given names. Tests replace it.
var openDevices = func(names []string, at func(benchPlace)) (list []*bench.Device, err error) {
	at(benchPlace{Stage: "look for devices"})
	handles, err := devicesToCompare(names, runtime.Devices())
	if err != nil {
		return nil, err
	}
	for _, h := range handles {
		at(benchPlace{Device: h.String(), Stage: "open"})
		d, err := facts.Open(h)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// devicesToCompare returns the devices with the given names; those that are present if there are no names.
func devicesToCompare(names []string, known []runtime.DeviceStatus) (chosen []dlpack.Device, err error) {
	var here []string
	for _, s := range known {
		// memory of the host that a driver allocates is not a device that executes something
		if s.Err == nil && !slices.Contains([]dlpack.DeviceType{dlpack.CUDAHost, dlpack.CUDAManaged}, s.Device.Type) {
			here = append(here, s.Device.String())
			if len(names) == 0 {
				chosen = append(chosen, s.Device)
			}
		}
	}
	for _, name := range names {
		d, err := facts.Find(name)
		switch {
		case err != nil && strings.Contains(err.Error(), "there is: "):
			return nil, wrongf("--compare %s: %s", name, reason(err))
		case err != nil:
			return nil, wrongf("--compare %s: %s; there is: %s", name, reason(err), strings.Join(here, ", "))
		case slices.Contains(chosen, d):
			return nil, wrongf("--compare %s: %v is named twice", name, d)
		}
		chosen = append(chosen, d)
	}
	return chosen, nil
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tvmgo/bench/kernels"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
)

// kernelsCommand is the first argument of a process that measures kernels of package bench/kernels on request.
const kernelsCommand = "kernels"

// kernelKinds are the kinds of devices whose drivers run kernels on the CPU: PoCL and lavapipe.
var kernelKinds = []struct{ kind, driver string }{{"opencl", "PoCL"}, {"vulkan", "lavapipe"}}

// leastSpeed is the target for the speed of a generated kernel, relative to the one that is written by hand.
func leastSpeed(c kernels.Case) float64 {
	if !c.Moves {
		return 0.9
	}
	return 0.95
}

// kernelRows returns the rows of kernels, and their groups.
func kernelRows() (rows []row, all []group) {
	for _, k := range kernelKinds {
		for _, c := range kernels.OnCPU {
			id := k.kind + "-" + c.Name
			r := row{id, fmt.Sprintf("kernel on %s: %s (base: by hand)", k.driver, c.Name), k.kind + "." + c.Name,
				k.kind + "." + c.Name + "-hand", 1 / leastSpeed(c), ratio}
			rows = append(rows, r)
			all = append(all, group{measures: []string{r.Ours, r.Base}, quiet: true})
		}
	}
	return rows, all
}

func init() {
	rows, all := kernelRows()
	table, groups = append(table, rows...), append(groups, all...)
}

// serveKernels reads names of cases, with "-hand" for the kernel by hand, and prints nanoseconds per call, as
// bench/program does. Its arguments are the minimal duration of a sample in nanoseconds, and the device.
func serveKernels(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: %s SAMPLE_NS DEVICE", kernelsCommand)
	}
	sample, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	device, err := dlpack.ParseDevice(args[1])
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	s := kernelServer{device: device, folder: folder, opened: map[string]*kernels.Kernel{},
		arrays: map[string]*kernels.Arrays{}}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		ctx := context.Background()
		k, err := s.kernel(ctx, in.Text())
		var ns float64
		if err == nil {
			ns, err = k.Sample(ctx, kernels.Wall, time.Duration(sample))
		}
		if err != nil {
			return fmt.Errorf("row %s: %w", in.Text(), err)
		}
		fmt.Println(ns)
	}
	return in.Err()
}

// kernelServer is the state of a process that measures kernels on a device.
type kernelServer struct {
	device dlpack.Device
	folder string
	opened map[string]*kernels.Kernel
	arrays map[string]*kernels.Arrays
}

// kernel builds, loads and checks a kernel on its first use.
func (s *kernelServer) kernel(ctx context.Context, row string) (*kernels.Kernel, error) {
	if k := s.opened[row]; k != nil {
		return k, nil
	}
	name, byHand := strings.CutSuffix(row, "-hand")
	by := kernels.Generated
	if byHand {
		by = kernels.ByHand
	}
	t, err := runtime.DetectTarget(s.device)
	if err != nil {
		return nil, err
	}
	for _, c := range kernels.OnCPU {
		if c.Name != name {
			continue
		}
		if s.arrays[name] == nil {
			if s.arrays[name], err = kernels.NewArrays(c, s.device); err != nil {
				return nil, err
			}
		}
		if err := kernels.Write(ctx, s.folder, []*target.Target{t}, c, by); err != nil {
			return nil, err
		}
		if s.opened[row], err = kernels.Open(ctx, s.folder, s.arrays[name], by); err != nil {
			return nil, err
		}
		return s.opened[row], s.opened[row].Check(ctx)
	}
	return nil, fmt.Errorf("there is no such row")
}

// kernelPrograms are the processes that measure kernels, by kind of device; each is started on first use.
type kernelPrograms struct {
	sample string
	of     map[string]*program
}

func (p *kernelPrograms) ask(kind, row string) (float64, error) {
	s := p.of[kind]
	if s == nil {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		if s, err = startProgram(self, kernelsCommand, p.sample, kind); err != nil {
			return 0, err
		}
		p.of[kind] = s
	}
	return s.sample(row)
}

func (p *kernelPrograms) close() error {
	var err error
	for kind, s := range p.of {
		err = errors.Join(err, s.close())
		delete(p.of, kind)
	}
	return err
}

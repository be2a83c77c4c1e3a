package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// spinCommand starts a process that spins on one core until its input ends.
const spinCommand = "spin"

func spin(args []string) error {
	core, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	runtime.LockOSThread()
	var one unix.CPUSet
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	fmt.Println() // from now on the core is busy
	for {
	}
}

// spinners are processes that take time of every core that this process may use.
type spinners []*spinner

type spinner struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func startSpinners() (all spinners, err error) {
	var cores unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cores); err != nil {
		return nil, err
	}
	for core := 0; len(all) < cores.Count(); core++ {
		if !cores.IsSet(core) {
			continue
		}
		cmd := exec.Command("/proc/self/exe", spinCommand, strconv.Itoa(core))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, errors.Join(err, all.stop())
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, errors.Join(err, all.stop())
		}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, all.stop())
		}
		all = append(all, &spinner{cmd, in})
		if _, err := out.Read(make([]byte, 1)); err != nil {
			return nil, errors.Join(err, all.stop())
		}
	}
	return all, nil
}

func (all spinners) stop() error {
	var errs []error
	for _, s := range all {
		s.in.Close()
		errs = append(errs, s.cmd.Wait())
	}
	return errors.Join(errs...)
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// wheelFiles returns the files of the wheels in a virtual environment that match a pattern.
func wheelFiles(venv, pattern string) ([]string, error) {
	found, _ := filepath.Glob(filepath.Join(venv, "lib/python*/site-packages", pattern))
	if len(found) == 0 {
		return nil, fmt.Errorf("no %s below %s: run build/scripts/deps.sh", pattern, venv)
	}
	return found, nil
}

const processesPerSample = 7

// wallTime returns how long a program runs in nanoseconds: the median of several runs.
func wallTime(argv ...string) (float64, error) {
	files := []uintptr{0, 1, 2}
	env := os.Environ()
	var took []float64
	for range processesPerSample {
		var status syscall.WaitStatus
		from := time.Now()
		pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: env, Files: files})
		if err != nil {
			return 0, err
		}
		for {
			_, err = syscall.Wait4(pid, &status, 0, nil)
			if err != syscall.EINTR {
				break
			}
		}
		took = append(took, float64(time.Since(from)))
		if err != nil {
			return 0, err
		}
		if status.ExitStatus() != 0 {
			return 0, fmt.Errorf("%s: exit status %d", argv[0], status.ExitStatus())
		}
	}
	return summarize(took).Median, nil
}

// command returns a command with two threads for parallel loops.
func command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "TVM_NUM_THREADS=2"), os.Stderr
	return cmd
}

// figure returns the number that a new process prints: the median of some runs.
func figure(runs int, program string, args ...string) (float64, error) {
	var took []float64
	for range runs {
		out, err := command(program, args...).Output()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", program, err)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return 0, err
		}
		took = append(took, v)
	}
	return summarize(took).Median, nil
}

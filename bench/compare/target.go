package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"time"

	"tvmgo/target"
)

const targetJSON = `{"kind":"cuda","arch":"sm_90a","libs":["cudnn"],` +
	`"host":{"kind":"llvm","mtriple":"aarch64-linux-gnu","mcpu":"neoverse-v2"}}`

// best returns the time of a call of f in the best of several batches of n calls.
func best(n int, f func() error) (float64, error) {
	least := math.Inf(1)
	for range batches {
		from := time.Now()
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		least = min(least, float64(time.Since(from))/float64(n))
	}
	return least, nil
}

func targetNew() (float64, error) {
	return best(50, func() error {
		_, err := target.New(targetJSON)
		return err
	})
}

// targetRead measures encoding/json, which reads the same text into a map.
func targetRead() (float64, error) {
	text := []byte(targetJSON)
	return best(50, func() error {
		var m map[string]any
		return json.Unmarshal(text, &m)
	})
}

func targetGet() (float64, error) {
	t, err := target.New(targetJSON)
	if err != nil {
		return 0, err
	}
	return best(20000, func() error {
		_, err := target.Get[int64](t, "thread_warp_size")
		return err
	})
}

// firstTarget is the environment variable of a process that makes one target and prints how long that took.
const firstTarget = "BENCH_FIRST_TARGET"

func printFirstTarget() {
	from := time.Now()
	_, err := target.New("nvidia/h100")
	taken := time.Since(from)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	fmt.Print(taken.Nanoseconds())
}

// targetFirst measures the first target of a process, which also reads the tables of kinds and tags.
func targetFirst() (float64, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stderr = append(os.Environ(), firstTarget+"=1"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("first target of a process: %w", err)
	}
	return strconv.ParseFloat(string(out), 64)
}

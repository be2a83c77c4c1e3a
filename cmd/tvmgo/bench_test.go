//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/suite"
	"tvmgo/internal/testing/must"
)

// benchInTests is the first argument of this test program if it is to run bench instead of tests.
const benchInTests = "bench"

// testCases is the variable that makes bench measure the cases of this file on devices of this file.
const testCases = "TVMGO_TEST_BENCH"

func init() {
	if os.Getenv(testCases) == "" {
		return
	}
	selectCases = func(names []string, _ suite.Options) (list []*bench.Case, err error) {
		for _, name := range names {
			if name == "hangs" {
				select {}
			}
			found := false
			for _, k := range fakeCases() {
				if name == k.Suite || name == k.ID() {
					list, found = append(list, k), true
				}
			}
			if !found {
				return nil, fmt.Errorf("there is no suite %q", name)
			}
		}
		return list, nil
	}
	openDevices = func(names []string, at func(benchPlace)) (list []*bench.Device, err error) {
		for _, name := range names {
			at(benchPlace{Device: name, Stage: "open"})
			if name == "broken" {
				crash()
			}
			list = append(list, &bench.Device{Name: name, Title: "device of tests"})
		}
		return list, nil
	}
}

// fakeCases behave as their names say, on the device bad; on other devices an operation takes a microsecond.
func fakeCases() (list []*bench.Case) {
	for _, c := range []struct{ suite, name string }{{"good", "first"}, {"good", "second"}, {"good", "third"},
		{"bad", "before"}, {"bad", "crash"}, {"bad", "crash in warm-up"}, {"bad", "exit"}, {"bad", "hang"}, {"bad", "wrong"},
		{"bad", "killed"}, {"bad", "after"}, {"panics", "here"}, {"panics", "beside"}, {"panics", "in a driver"},
		{"dead", "crash 1"}, {"dead", "crash 2"}, {"dead", "crash 3"}, {"dead", "crash 4"}, {"dead", "crash 5"},
		{"slow", "1"}, {"slow", "2"}, {"slow", "3"}, {"slow", "4"}, {"stuck", "first"}, {"stuck", "hang"},
		{"late", "sleep"}, {"late", "next"}} {
		list = append(list, &bench.Case{Suite: c.suite, Name: c.name, Doc: "a case of tests", Figure: bench.Time,
			Variants: []bench.Variant{{Open: func(_ context.Context, on *bench.Device) (bench.Work, error) {
				w := &fakeWork{takes: time.Microsecond}
				if c.suite == "slow" {
					w.takes = 200 * time.Millisecond
				}
				if on.Name == "bad" {
					w.does, _, _ = strings.Cut(c.name, " ")
				}
				if c.suite == "late" {
					w.does = c.name
				}
				if c.suite == "panics" {
					w.does = "panic " + c.name
				}
				if strings.HasSuffix(c.name, "warm-up") {
					w.later = true
				}
				return w, nil
			}}}})
	}
	return list
}

type fakeWork struct {
	does  string
	later bool // not in the check
	takes time.Duration
}

func (w *fakeWork) Amount() bench.Amount { return bench.Amount{} }

func (w *fakeWork) Facts() bench.Facts { return nil }

func (w *fakeWork) Close() error { return nil }

func (w *fakeWork) Check(context.Context) (string, error) {
	if w.later {
		return "later", nil
	}
	if w.does == "sleep" {
		d, err := time.ParseDuration(os.Getenv("SLEEP"))
		time.Sleep(d)
		return "by its name", err
	}
	return "by its name", w.do()
}

func (w *fakeWork) Run(_ context.Context, n int) (bench.Elapsed, error) {
	if w.takes >= time.Millisecond { // as a kernel, which nothing interrupts
		reached()
		time.Sleep(w.takes)
	}
	return bench.Elapsed{Wall: time.Duration(n) * w.takes}, w.do()
}

func (w *fakeWork) do() error {
	switch w.does {
	case "crash":
		crash()
	case "exit":
		os.Exit(0)
	case "hang":
		reached()
		select {}
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "panic here":
		panic("a mistake")
	case "panic beside":
		go panic("a mistake")
		select {}
	case "panic in a driver":
		fmt.Fprintln(os.Stderr, "warning of a driver\nanother one")
		go func() { _ = []int{}[len(w.does):] }()
		select {}
	case "wrong":
		return fmt.Errorf("%w: 3 instead of 4", bench.ErrWrongResult)
	}
	return nil
}

// crash ends the process as a kernel with a bug does.
func crash() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
	select {}
}

// reached says that a case has begun: the test that waits for it goes on.
var reached = sync.OnceFunc(func() {
	if name := os.Getenv("REACHED"); name != "" {
		_ = os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())), 0)
	}
})

// benched runs bench with the cases of this file, in another process.
func benched(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := benchProcess(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func benchProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(must.Get(os.Executable())(t), append([]string{benchInTests}, args...)...)
	cmd.Env = append(os.Environ(), testCases+"=1", "GOTRACEBACK=none")
	return cmd
}

// patiently compares what bench reports under a limit with what it should report. On a slow machine a process may need
// more than the limit to start: then a longer one is tried.
func patiently[T any](t *testing.T, try func(limit time.Duration) (want, got T)) {
	t.Helper()
	for limit := 2 * time.Second; ; limit *= 4 {
		want, got := try(limit)
		if limit > 2*time.Minute || assert.ObjectsAreEqual(want, got) {
			require.Equal(t, want, got)
			return
		}
	}
}

// reportOf reads a report in JSON.
func reportOf(t *testing.T, file string) *bench.Report {
	t.Helper()
	r := &bench.Report{}
	require.NoError(t, json.Unmarshal(must.Get(os.ReadFile(file))(t), r))
	return r
}

// statuses lists the rows of a report, with their status.
func statuses(r *bench.Report) (list []string) {
	for _, row := range r.Rows {
		list = append(list, row.ID()+": "+string(row.Status))
	}
	return list
}

func TestBench(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	status, stdout, stderr := benched(t, "--suite", "good", "--compare", "one,two", "--rounds", "7", "-o", file)
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)
	r := reportOf(t, file)
	require.Equal(t, []string{"good/first on one: measured", "good/first on two: measured", "good/second on one: measured",
		"good/second on two: measured", "good/third on one: measured", "good/third on two: measured"}, statuses(r))
	require.Empty(t, r.Ended)
	require.Equal(t, bench.Schema, r.Schema)
	require.Equal(t, 7, r.Config.Rounds)
	require.NotZero(t, r.Took)
	require.Equal(t, "device of tests", r.Devices[1].Title)
	for _, row := range r.Rows {
		require.Len(t, row.Samples, 7)
		require.Equal(t, 1.0, row.Value)
		require.Contains(t, stdout, row.Case)
	}
	require.InDelta(t, 1.0, r.Rows[1].Ratio.Value, 0)
}

// A process that crashes, exits, hangs or is killed loses the case on that device, and nothing else.
func TestBench_LostProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	// the device bad ends four processes: it is given up at the third
	status, _, stderr := benched(t, "--suite", "bad", "--compare", "one,bad,two", "-o", file)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "tvmgo: 7 of 24 rows have no result, first bad/crash on bad: failed\n")
	r := reportOf(t, file)
	require.Empty(t, r.Ended)
	reasons := map[string]string{}
	for _, row := range r.Rows {
		if row.Device != "bad" {
			require.Equal(t, bench.Measured, row.Status, row.ID())
			continue
		}
		reasons[row.Case] = string(row.Status) + ": " + row.Reason
	}
	require.Len(t, r.Rows, 24)
	ended := "failed: the process that measured it ended: "
	require.Equal(t, map[string]string{
		"before":           "measured: ",
		"crash":            ended + `SIGSEGV: segmentation violation (in step "check")`,
		"crash in warm-up": ended + `SIGSEGV: segmentation violation (in step "warm up")`,
		"exit":             ended + `exit status 0 (in step "check")`,
		"hang":             "failed: not tried: bad has ended 3 processes",
		"wrong":            "failed: not tried: bad has ended 3 processes",
		"killed":           "failed: not tried: bad has ended 3 processes",
		"after":            "failed: not tried: bad has ended 3 processes",
	}, reasons)

	status, _, stderr = benched(t, "--suite", "bad/wrong,bad/killed,bad/after", "--compare", "one,bad", "-o", file)
	require.Equal(t, 1, status, stderr)
	require.Equal(t, map[string]string{"wrong one": "measured: ", "killed one": "measured: ", "after one": "measured: ",
		"wrong bad":  "wrong result: wrong result: 3 instead of 4",
		"killed bad": ended + `signal: killed (in step "check")`,
		"after bad":  "measured: ",
	}, outcomes(t, file))

	patiently(t, func(limit time.Duration) (want, got map[string]string) {
		file := filepath.Join(t.TempDir(), "r.json")
		status, _, stderr := benched(t, "--suite", "bad/hang,bad/after", "--compare", "bad", "--timeout", limit.String(),
			"-o", file)
		require.Equal(t, 1, status, stderr)
		hangs := fmt.Sprintf(`it did not end within %v: set a longer time with --timeout (in step "check")`, limit)
		return map[string]string{"hang bad": "failed: " + hangs, "after bad": "measured: "}, outcomes(t, file)
	})
}

// outcomes returns the status and the reason of each row of a report, if there is one.
func outcomes(t *testing.T, file string) map[string]string {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	list := map[string]string{}
	for _, row := range reportOf(t, file).Rows {
		list[row.Case+" "+row.Device] = string(row.Status) + ": " + row.Reason
	}
	return list
}

// A process that hangs before it measures ends after --timeout, too.
func TestBench_HangsAtTheStart(t *testing.T) {
	status, _, stderr := benched(t, "--suite", "hangs", "--compare", "one", "--timeout", "1s")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: start the process that measures: it did not end within 1s: set a longer time with "+
		"--timeout\n", stderr)
}

// A panic of a case is its reason, also on another goroutine, where it ends the process.
func TestBench_Panics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	status, _, stderr := benched(t, "--suite", "panics", "--compare", "one", "-v", "-o", file)
	require.Equal(t, 1, status, stderr)
	rows := reportOf(t, file).Rows
	require.Len(t, rows, 3)
	require.Regexp(t, `^panic: a mistake \(bench_test.go:\d+\)$`, rows[0].Reason)
	ended := "the process that measured it ended: panic: "
	require.Equal(t, ended+`a mistake (in step "check")`, rows[1].Reason)
	require.Equal(t, ended+`runtime error: slice bounds out of range [17:0] (in step "check")`, rows[2].Reason)
}

// A device whose driver crashes when it is opened is named.
func TestBench_DeviceCrashes(t *testing.T) {
	status, stdout, stderr := benched(t, "--suite", "good", "--compare", "one,broken")
	require.Equal(t, 1, status)
	require.Empty(t, stdout)
	require.Equal(t, "tvmgo: open broken: the process that measured it ended: SIGSEGV: segmentation violation\n", stderr)
}

// signalled starts bench, sends it a signal when a case runs, and returns its report.
func signalled(t *testing.T, after time.Duration, s syscall.Signal, args ...string) (*exec.Cmd, string, *bench.Report) {
	t.Helper()
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "r.json"), filepath.Join(dir, "reached")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := benchProcess(t, append(args, "-o", file)...)
	cmd.Env = append(cmd.Env, "REACHED="+pipe)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	child := must.Get(strconv.Atoi(string(must.Get(os.ReadFile(pipe))(t))))(t)
	time.Sleep(after)
	require.NoError(t, cmd.Process.Signal(s))
	_ = cmd.Wait()
	require.Equal(t, 128+int(s), cmd.ProcessState.ExitCode(), errs.String())
	require.Contains(t, errs.String(), "tvmgo: bench: "+s.String())
	requireEnded(t, child)
	return cmd, out.String(), reportOf(t, file)
}

// requireEnded waits until a process has ended.
func requireEnded(t *testing.T, process int) {
	t.Helper()
	require.Eventually(t, func() bool { // its entry may wait for its new parent
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, time.Millisecond)
}

// After a signal at any moment, the report has the cases that ended before, and samples of the one that was measured.
func TestBench_Signals(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // children of "nohup make test" would ignore it
	for i, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			after := time.Duration(i) * 1700 * time.Millisecond
			_, stdout, r := signalled(t, after, s, "--suite", "slow", "--compare", "one,two", "--time", "20s")
			require.Equal(t, "interrupted: "+s.String(), r.Ended)
			require.Contains(t, stdout, r.Ended)
			require.NotEmpty(t, r.Rows)
			interrupted := 0
			for _, row := range r.Rows {
				if row.Status == bench.Interrupted {
					interrupted++
					require.Equal(t, s.String(), row.Reason)
				} else {
					require.Equal(t, bench.Measured, row.Status)
					require.NotNil(t, row.Times)
				}
			}
			require.NotZero(t, interrupted)
		})
	}
}

// A kernel that does not end loses its own case.
func TestBench_SignalWhileAKernelHangs(t *testing.T) {
	_, stdout, r := signalled(t, 0, syscall.SIGINT, "--suite", "stuck", "--compare", "one,bad")
	require.Equal(t, []string{"stuck/first on one: measured", "stuck/first on bad: measured",
		"stuck/hang on one: interrupted", "stuck/hang on bad: interrupted"}, statuses(r))
	require.Equal(t, "interrupt: its operation did not end within 3s", r.Rows[3].Reason)
	require.Contains(t, stdout, "interrupt")
}

// The second signal ends the process at once.
func TestBench_SecondSignal(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "reached")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := benchProcess(t, "--suite", "stuck", "--compare", "bad")
	cmd.Env = append(cmd.Env, "REACHED="+pipe)
	require.NoError(t, cmd.Start())
	child := must.Get(strconv.Atoi(string(must.Get(os.ReadFile(pipe))(t))))(t)
	for began := time.Now(); time.Since(began) < 10*time.Second && cmd.Process.Signal(syscall.SIGINT) == nil; {
		time.Sleep(20 * time.Millisecond)
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); strings.Contains(string(stat), ") Z ") {
			break
		}
	}
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	requireEnded(t, child)
}

// A child process that is told to end by someone else does not end the run.
func TestBench_ChildEnds(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "r.json"), filepath.Join(dir, "reached")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		cmd := benchProcess(t, "--suite", "slow/1,good", "--compare", "one,two", "--rounds", "2", "-o", file)
		cmd.Env = append(cmd.Env, "REACHED="+pipe)
		require.NoError(t, cmd.Start())
		child := must.Get(strconv.Atoi(string(must.Get(os.ReadFile(pipe))(t))))(t)
		reader := must.Get(os.OpenFile(pipe, os.O_RDWR, 0))(t) // the next child does not wait
		require.NoError(t, syscall.Kill(child, s))
		_ = cmd.Wait()
		reader.Close()
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		list := statuses(reportOf(t, file))
		require.Len(t, list, 8)
		failed := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasSuffix(s, "measured") })
		require.Len(t, failed, 1, "%v", list)
		require.Regexp(t, "^slow/1 on (one|two): failed", failed[0])
	}
}

//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tvmgo/bench"
	"tvmgo/bench/suite"
	"tvmgo/internal/testing/must"
)

// limitedBench runs bench in a folder, under a shell's limit of the size of its files.
func limitedBench(t *testing.T, dir, limit, args string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := benchProcess(t)
	line := limit + "exec " + cmd.Path + " " + benchInTests + " " + args
	shell := exec.Command("sh", "-c", line)
	var out, errs bytes.Buffer
	shell.Dir, shell.Env, shell.Stdout, shell.Stderr = dir, cmd.Env, &out, &errs
	if err := shell.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return shell.ProcessState.ExitCode(), out.String(), errs.String()
}

// A file that cannot be written costs neither the other files nor the report on standard output.
func TestBench_FileTooLarge(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "big.json"), []byte("old"), 0o666))
	status, stdout, stderr := limitedBench(t, dir, "ulimit -f 8; ",
		"--suite good,slow/1 --compare one,two -o big.json -o small.md")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: write big.json: file too large\n", stderr)
	require.Contains(t, stdout, "third")
	require.Equal(t, "old", string(must.Get(os.ReadFile(filepath.Join(dir, "big.json")))(t)))
	require.Contains(t, string(must.Get(os.ReadFile(filepath.Join(dir, "small.md")))(t)), "third")
	require.Len(t, must.Get(os.ReadDir(dir))(t), 2, "unfinished files")
}

// A folder that vanishes, or is no longer writable, while cases are measured.
func TestBench_FolderVanishes(t *testing.T) {
	dir := t.TempDir()
	status, stdout, stderr := limitedBench(t, dir, "mkdir d; mkfifo reached; export REACHED=$PWD/reached; "+
		"(cat reached >pid; rmdir d) & ", "--suite slow/1 --compare one -o d/r.json -o kept.json")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: write d/r.json: there is no such folder: create it\n", stderr)
	require.NotEmpty(t, stdout)
	require.Len(t, reportOf(t, filepath.Join(dir, "kept.json")).Rows, 1)
}

// A full disk under standard output is an error, and the files are written.
func TestBench_FullStandardOutput(t *testing.T) {
	dir := t.TempDir()
	status, _, stderr := limitedBench(t, dir, "", "--suite good --compare one -o r.json >/dev/full")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: write the report: write /dev/stdout: no space left on device\n", stderr)
	require.Len(t, reportOf(t, filepath.Join(dir, "r.json")).Rows, 3)
}

func TestBench_Formats(t *testing.T) {
	dir := t.TempDir()
	args := "--suite good --compare one,two --format md -o -"
	for _, name := range formatNames() {
		args += " -o r." + name
	}
	status, stdout, stderr := limitedBench(t, dir, "", args)
	require.Zero(t, status, stderr)
	require.True(t, strings.HasPrefix(stdout, string(must.Get(os.ReadFile(filepath.Join(dir, "r.md")))(t))), stdout)
	for _, name := range formatNames() {
		content := must.Get(os.ReadFile(filepath.Join(dir, "r."+name)))(t)
		require.NotEmpty(t, content, name)
		for begin, of := range map[string]string{"{": "json", "tvmgo bench": "txt", "<svg": "svg", "\x89PNG": "png",
			"<!doctype html>": "html"} {
			if of == name {
				require.Contains(t, strings.ToLower(string(content[:min(len(content), 400)])), strings.ToLower(begin))
			}
		}
	}
}

// Each invalid command line is an error that says what to do, before anything is measured.
func TestBench_BadCommandLines(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o777))
	for _, c := range []struct{ args, want string }{
		{"--compare vulcan:0", `--compare vulcan:0: parse device "vulcan:0": parse device type: unknown name "vulcan": did ` +
			`you mean "vulkan"?; there is: cpu:0`},
		{"--compare cpu:3", `--compare cpu:3: there is no`},
		{"--compare cpu,cpu:0", "--compare cpu:0: cpu:0 is named twice"},
		{"--compare=", "--compare names nothing: leave it out for the default"},
		{"--suite=", "--suite names nothing: leave it out for the default"},
		{"--compare cpu,", `--compare : parse device ""`},
		{"--suite lunch", `--suite: there is no suite "lunch": did you mean "launch"?`},
		{"--suite launch/kernel_launch_latenzy",
			`--suite: there is no case "launch/kernel_launch_latenzy": did you mean "launch/kernel_launch_latency"?`},
		{"--only nothing-has-this-name", "--only nothing-has-this-name matches none of the "},
		{"--only launch/kernel_launch_latenzy", `--only launch/kernel_launch_latenzy matches none of the ` +
			allCases(t) + ` cases of all: did you mean "launch/kernel_launch_latency"?`},
		{"--only (", "--only (: error parsing regexp: missing closing ): `(`"},
		{"--rounds -1", "--rounds -1: give a number from 1 to 100000"},
		{"--rounds 100001", "--rounds 100001: give a number from 1 to 100000"},
		{"--time -3s", "--time -3s: give a time above zero, for example 2m"},
		{"--time soon", `invalid argument "soon" for "--time" flag`},
		{"--timeout 0s", "--timeout 0s: give a time above zero, for example 10s"},
		{"--confidence 1", "--confidence 1: give a number from 0.5 to 0.999"},
		{"--confidence NaN", "--confidence NaN: give a number from 0.5 to 0.999"},
		{"x.so f --rtol NaN", "--rtol NaN: give a number from 0"},
		{"x.so f --rtol -2", "--rtol -2: give a number from 0"},
		{"x.so f --atol +Inf", "--atol +Inf: give a number from 0"},
		{"x.so f --ops NaN", "--ops NaN: give a number from 0"},
		{"-o r.jsn", `--out r.jsn: unknown format "jsn": did you mean "json"?`},
		{"-o r", "--out r: it has no extension, which names the format: use one of txt, "},
		{"--format xyzzy", `--format xyzzy: unknown format "xyzzy": use one of txt, `},
		{"--in 3", "--in is for a function of your own: name its file"},
		{"vadd", "vadd is not a file: name the file before the function"},
		{"none.so f", "none.so: no such file: check the path"},
		{"none.cl", "none.cl: no such file: check the path"},
	} {
		status, stdout, stderr := inDir(t, dir, strings.Fields(c.args)...)
		require.Equal(t, 2, status, "%s: %s", c.args, stderr)
		require.Contains(t, stderr, "tvmgo: "+c.want, c.args)
		require.Empty(t, stdout)
	}
	for args, want := range map[string]string{
		"-o r.json -o ./r.json": "write ./r.json: it is named twice: give each --out its own file",
		"-o nowhere/r.json":     "write nowhere/r.json: there is no such folder: create it",
		"-o folder.json":        "write folder.json: it is a directory: name a file in it",
	} {
		status, stdout, stderr := inDir(t, dir, strings.Fields(args)...)
		require.Equal(t, 1, status, args)
		require.Equal(t, "tvmgo: "+want+"\n", stderr)
		require.Empty(t, stdout)
	}
	multi := must.Get(filepath.Abs(filepath.Join(artifacts, "modern/multi_c.so")))(t)
	for args, want := range map[string]string{
		"":    ": which function? It has addone, matmul, softmax, vadd, wsfunc",
		"vad": `: there is no function vad in it; did you mean "vadd"?`,
		"vadd --in float32[9] --in float32[9] --in float32[9] --in i:3": "takes 3 arguments, and 4 are given",
		"vadd --in float64[9]": ": argument 0 (A) of vadd(A: float32[n], B: float32[n], C: float32[n]): got float64[9]",
		"vadd --size n":        "--size n: write a name and a number, for example n=4096",
		"vadd --expect float":  "--expect float: ",
		"vadd --target c":      "only a program (.tir) is built for a target",
		"vadd --grid 1,2,3,4":  "--grid: 4 numbers: give at most 3",
		"vadd --figure speed":  `the figure "speed" is unknown`,
		"vadd --figure flops --size n=8": "the figure flops: it needs the number of operations of a call, which only " +
			"programs with loops over threads have: give it with --ops",
		"vadd --in none.npy":  "none.npy",
		"vadd --in float32[9": "float32[9",
	} {
		status, _, stderr := inDir(t, dir, append([]string{multi, "--compare", "cpu"}, strings.Fields(args)...)...)
		require.Equal(t, 2, status, "%s: %s", args, stderr)
		require.Contains(t, stderr, want, args)
	}
}

// allCases returns the number of cases.
func allCases(t *testing.T) string {
	t.Helper()
	return fmt.Sprint(len(must.Get(suite.Select([]string{suite.All}, suite.Options{}))(t)))
}

// inDir runs bench with the real suites and devices in a folder, in another process.
func inDir(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(must.Get(os.Executable())(t), append([]string{benchInTests}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if err := cmd.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// onTerminal runs the command with a terminal of a number of columns as standard error (0: unknown). It returns what
// the terminal was sent, with "|" at the end, and standard output.
func onTerminal(t *testing.T, columns uint16, args ...string) (shown, stdout string) {
	t.Helper()
	ours, theirs := terminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	cmd := benchProcess(t, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, theirs
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_, _ = theirs.WriteString("|")
	}()
	var text []byte
	for buf := make([]byte, 1000); !bytes.HasSuffix(text, []byte("|")); {
		n := must.Get(ours.Read(buf))(t)
		text = append(text, buf[:n]...)
		select {
		case err := <-ended:
			require.NoError(t, err)
		default:
		}
	}
	return string(text), out.String()
}

// On a terminal there is a progress bar, which vanishes; standard output has only the report.
func TestBench_ProgressBar(t *testing.T) {
	for _, columns := range []uint16{0, 120} {
		shown, stdout := onTerminal(t, columns, "--suite", "slow/1,slow/2", "--compare", "one,two", "--rounds", "6")
		require.True(t, strings.HasPrefix(shown, "measures 2 cases on one, two: about "), "%q", shown)
		require.Contains(t, shown, "slow/1 on one, measure")
		require.Contains(t, shown, "slow/2 on two, measure")
		require.Regexp(t, `[1-3]/4`, shown)
		last := shown[strings.LastIndex(shown, "\x1b[2K")+len("\x1b[2K"):]
		require.Equal(t, "\r|", last, "the bar is still there: %q", shown)
		require.NotContains(t, stdout, "\x1b")
		require.Contains(t, stdout, "SLOW")
	}
}

// The progress bar fits into a narrow terminal: a line that wraps would stay there.
func TestBench_ProgressBarIsShort(t *testing.T) {
	const columns = 60
	shown, _ := onTerminal(t, columns, "--suite", "slow/1", "--compare", "one,two", "--rounds", "6")
	require.Contains(t, shown, "slow/1 on o…")
	_, bar, _ := strings.Cut(shown, "\n")
	bar = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`).ReplaceAllString(bar, "")
	for _, line := range regexp.MustCompile(`[\r\n]`).Split(bar, -1) {
		require.Less(t, utf8.RuneCountInString(line), columns, "%q", line)
	}
}

// With -v there is a line for each row, and no bar.
func TestBench_Verbose(t *testing.T) {
	status, stdout, stderr := benched(t, "--suite", "good", "--compare", "one", "-v")
	require.Zero(t, status)
	require.Equal(t, "measures 3 cases on one: about 2s\ngood/first on one: 1.00 µs\ngood/second on one: 1.00 µs\n"+
		"good/third on one: 1.00 µs\n", stderr)
	require.NotContains(t, stdout, "measures")
}

// With -v, a reason that begins with the status of its row does not say it twice.
func TestBench_VerboseReasons(t *testing.T) {
	_, _, stderr := benched(t, "--suite", "bad/wrong,bad/exit", "--compare", "bad", "-v")
	require.Contains(t, stderr, "\nbad/wrong on bad: wrong result: 3 instead of 4\n")
	require.Contains(t, stderr, "\nbad/exit on bad: failed: the process that measured it ended: exit status 0 (")
}

// A function that no device can execute is a failure, although its limits were measured.
func TestBench_NoCodeForTheDevice(t *testing.T) {
	triad := must.Get(filepath.Abs("../../examples/bench/triad.cl"))(t)
	status, stdout, stderr := inDir(t, t.TempDir(), triad, "--compare", "cpu", "--size", "n=64", "--rounds", "1")
	require.Equal(t, 1, status, stdout)
	require.Equal(t, "tvmgo: your function was measured on no device: the report has the reasons\n", stderr)
	require.Contains(t, stdout, "there is no code for cpu")
	require.Regexp(t, `[1-9] measured, 1 not measured`, stdout, "its limits")
}

// Rows for which --time is too short are left out, and say so.
func TestBench_TimeIsOver(t *testing.T) {
	const over = "not measured: the time for the run (--time) was over"
	patiently(t, func(limit time.Duration) (want, got map[string]string) {
		file := filepath.Join(t.TempDir(), "r.json")
		cmd := benchProcess(t, "--suite", "late", "--compare", "one", "--time", limit.String(), "-v", "-o", file)
		cmd.Env = append(cmd.Env, "SLEEP="+limit.String())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		got = outcomes(t, file)
		if strings.HasPrefix(got["sleep one"], "measured") {
			require.NoError(t, err, "%s", &stderr)
		}
		require.Contains(t, stderr.String(), "\nlate/next on one: "+over+"\n")
		return map[string]string{"sleep one": "measured: ", "next one": "not measured: " + over}, got
	})
}

func TestBench_List(t *testing.T) {
	status, stdout, stderr := inDir(t, t.TempDir(), "--suite", "launch", "--list")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^launch/kernel_launch_latency +µs +launch an empty kernel and wait for it$`, stdout)
}

// What is slower than in the baseline is named, and the exit status is 1; without a change it is 0.
func TestBench_Baseline(t *testing.T) {
	dir := t.TempDir()
	bad := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	args := "--suite good --compare one,two "
	status, _, stderr := limitedBench(t, dir, "", args+"-o old.json")
	require.Zero(t, status, stderr)
	status, _, stderr = limitedBench(t, dir, "", args+"--baseline old.json")
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)

	text := string(must.Get(os.ReadFile(filepath.Join(dir, "old.json")))(t))
	faster := reportOf(t, filepath.Join(dir, "old.json"))
	for i := range faster.Rows[2].Samples {
		faster.Rows[2].Samples[i] *= 0.9
	}
	faster.Machine.CPU = "another one"
	bad("faster.json", string(must.Get(json.Marshal(faster))(t)))
	status, stdout, stderr := limitedBench(t, dir, "", args+"--baseline faster.json -o new.json")
	require.Equal(t, 1, status, stderr)
	require.Contains(t, stderr, "tvmgo: warning: --baseline faster.json: ")
	require.Contains(t, stderr, "another one")
	require.Contains(t, stderr, "tvmgo: 1 regression since faster.json: good/second on one\n")
	require.Contains(t, stdout, "slower")
	require.Equal(t, "faster.json", reportOf(t, filepath.Join(dir, "new.json")).Baseline.File)

	bad("other.json", `{"a": 1}`)
	bad("text.json", "good/first on one: 1 µs")
	bad("empty.json", "")
	bad("short.json", text[:len(text)/2])
	bad("newer.json", strings.Replace(text, bench.Schema, "tvmgo-bench/99", 1))
	for file, want := range map[string]string{
		"none.json":  "no such file or directory",
		"other.json": `it has no "schema"`,
		"text.json":  "line 1 is not JSON",
		"empty.json": "it is empty: give a file that tvmgo bench wrote",
		"short.json": "the file is truncated after ",
		"newer.json": "its schema tvmgo-bench/99 is newer than " + bench.Schema + ": use the version of tvmgo that wrote it",
	} {
		status, stdout, stderr := limitedBench(t, dir, "", args+"--baseline "+file)
		require.Equal(t, 2, status, stderr)
		require.Contains(t, stderr, "tvmgo: --baseline "+file+": ")
		require.Contains(t, stderr, want)
		require.Empty(t, stdout, "nothing is measured")
	}
}

// A report is shown again without a measurement, also compared with an older one, with the same exit status.
func TestBench_Show(t *testing.T) {
	dir := t.TempDir()
	status, printed, stderr := limitedBench(t, dir, "", "--suite good --compare one,two -o new.json -o new.md")
	require.Zero(t, status, stderr)
	status, stdout, stderr := limitedBench(t, dir, "", "--show new.json -o again.json -o again.md")
	require.Zero(t, status, stderr)
	require.Equal(t, printed, stdout)
	for _, ext := range []string{"json", "md"} {
		require.Equal(t, string(must.Get(os.ReadFile(filepath.Join(dir, "new."+ext)))(t)),
			string(must.Get(os.ReadFile(filepath.Join(dir, "again."+ext)))(t)))
	}
	status, stdout, stderr = limitedBench(t, dir, "", "--show new.json --only first -o one.json")
	require.Zero(t, status, stderr)
	require.NotContains(t, stdout, "second")
	for _, row := range reportOf(t, filepath.Join(dir, "one.json")).Rows {
		require.Equal(t, "first", row.Case)
	}
	old := reportOf(t, filepath.Join(dir, "new.json"))
	for i := range old.Rows[2].Samples {
		old.Rows[2].Samples[i] *= 0.9
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old.json"), must.Get(json.Marshal(old))(t), 0o666))
	status, _, stderr = limitedBench(t, dir, "", "--show new.json --baseline old.json")
	require.Equal(t, 1, status, stderr)
	require.Contains(t, stderr, "tvmgo: 1 regression since old.json: good/second on one\n")

	status, _, stderr = limitedBench(t, dir, "", "--show new.json --baseline old.json --relevant 0.3")
	require.Zero(t, status, stderr)

	for args, want := range map[string]string{
		"--show new.json --only [":                  "--only [: ",
		"--show new.json --only fast":               "--only fast: new.json has no such row",
		"--show new.json --relevant 0":              "--relevant 0: give a share above zero, for example 0.03",
		"--show none.json":                          "--show none.json: no such file or directory",
		"--show new.md":                             "--show new.md: ",
		"--show new.json --suite good --rounds 3":   "--show measures nothing: leave out --rounds, --suite",
		"--show new.json add.so":                    "add.so: --show measures nothing: leave out the file, or --show",
		"--show new.json -o new.xyz":                `unknown format "xyz"`,
		"--show new.json --format xyz":              `--format xyz: unknown format "xyz"`,
		"--show new.json --baseline new.md -o r.md": "--baseline new.md: ",
	} {
		status, stdout, stderr := limitedBench(t, dir, "", args)
		require.Equal(t, 2, status, stderr)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout)
	}
}

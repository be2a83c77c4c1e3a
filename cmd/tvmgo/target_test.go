//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// targetJSON runs a command of target with --json and decodes what it prints.
func targetJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	status, stdout, stderr := builtWith(t, ".", nil, append(append([]string{"target"}, args...), "--json")...)
	require.Zero(t, status, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), into), stdout)
}

func TestTarget_List(t *testing.T) {
	var list struct{ Kinds []kindRow }
	targetJSON(t, &list, "list")
	status, text, stderr := builtWith(t, ".", nil, "target", "list")
	require.Zero(t, status, stderr)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, len(target.Kinds()))
	require.Len(t, list.Kinds, len(lines))
	for i, k := range list.Kinds {
		require.Equal(t, []string{k.Kind, k.Device}, strings.Fields(lines[i])[:2])
	}
	require.Contains(t, lines, "cuda         cuda     cuda,gpu")

	var one kindRow
	targetJSON(t, &one, "list", "webgpu")
	require.Equal(t, "webgpu", one.Kind)
	require.Contains(t, one.Options, optionRow{Name: "supports_subgroups", Type: "bool", Default: false})
	targetJSON(t, &one, "list", "llvm")
	least, most := int64(0), int64(3)
	require.Contains(t, one.Options, optionRow{Name: "opt-level", Type: "int", Min: &least, Max: &most,
		Help: "the optimization level of LLVM"})
	require.Contains(t, one.Options, optionRow{Name: "jit", Type: "str", Values: []string{"mcjit", "orcjit"},
		Help: "LLVM's engine for running code without linking"})
	_, text, _ = builtWith(t, ".", nil, "target", "list", "llvm")
	require.Regexp(t, `(?m)^  opt-level +int +the optimization level of LLVM \(0 to 3\)$`, text)
	require.Regexp(t, `(?m)^  num-cores .* \(at least 1\)$`, text)
	require.Regexp(t, `(?m)^  jit .* \(one of mcjit, orcjit\)$`, text)
	_, text, _ = builtWith(t, ".", nil, "target", "list", "rocm")
	require.Regexp(t, `(?m)^  mcpu .* \(starts with gfx\)$`, text)
	_, text, _ = builtWith(t, ".", nil, "target", "list", "cuda")
	require.Regexp(t, `(?m)^  arch .*: sm_90a \(matches sm_\[0-9\]`, text)
	require.Regexp(t, `(?m)^  arch +str +compute capability`, text)
	require.Regexp(t, `(?m)^  thread_warp_size +int += 32 \(at least 1\)$`, text)
}

func TestTarget_Show(t *testing.T) {
	status, text, stderr := builtWith(t, ".", nil, "target", "show", "nvidia/h100", "--host",
		"llvm -mtriple=aarch64-linux-gnu")
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)
	for _, want := range []string{`(?m)^tag +nvidia/nvidia-h100$`, `(?m)^arch +sm_90a$`, `(?m)^keys +cuda,gpu$`,
		`(?m)^host +llvm -keys=arm_cpu,cpu .*-mtriple=aarch64-linux-gnu$`} {
		require.Regexp(t, want, text)
	}
	var shown struct {
		Target   json.RawMessage
		CLI      string
		Hash     string
		Warnings []string
	}
	targetJSON(t, &shown, "show", "cuda")
	got := must.Get(target.New(shown.Target))(t)
	want := must.Get(target.New("cuda"))(t)
	require.True(t, want.Equal(got))
	require.Equal(t, hashOf(want), shown.Hash)
	require.Equal(t, want.String(), shown.CLI)
	require.Equal(t, want.Warnings(), shown.Warnings)

	status, _, stderr = builtWith(t, ".", nil, "target", "show", "cuda")
	require.Zero(t, status)
	require.Regexp(t, `^warning: kind "cuda" without "arch": sm_50 is assumed`, stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

func TestTarget_Tags(t *testing.T) {
	var list struct{ Tags []tagRow }
	targetJSON(t, &list, "tags", "--key", "mali")
	require.NotEmpty(t, list.Tags)
	names := map[string]tagRow{}
	for _, tag := range list.Tags {
		require.Contains(t, tag.Keys, "mali")
		require.Len(t, tag.Hash, 64)
		names[tag.Tag] = tag
	}
	require.Contains(t, names, "rockchip/rk3399-gpu")
	status, text, stderr := builtWith(t, ".", nil, "target", "tags", "nvidia/nvidia-h")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^nvidia/nvidia-h100 +cuda +cuda,gpu +.*nvidia/h100`, text)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		require.True(t, strings.HasPrefix(line, "nvidia/nvidia-h"), line)
	}
}

// If a list is empty, the error suggests a similar name.
func TestTarget_NoTags(t *testing.T) {
	for want, args := range map[string][]string{
		`no tag has a name that starts with "h100"; did you mean "nvidia/h100"?`: {"h100"},
		`no tag has the key "maly"; did you mean "mali"?`: {"--key", "maly",
			"--json"},
		`no tag has a name that starts with "rockchip/" and the key "cuda"`: {"rockchip/",
			"--key", "cuda"},
		`no tag has a name that starts with "nvidia/h10x" and the key "gpu"; did you mean "nvidia/h100"?`: {"nvidia/h10x",
			"--key", "gpu"},
	} {
		status, stdout, stderr := builtWith(t, ".", nil, append([]string{"target", "tags"}, args...)...)
		require.Equal(t, 1, status, "%v", args)
		require.Empty(t, stdout)
		require.Equal(t, "tvmgo: target tags: "+want+"\n", stderr)
	}
}

func TestTarget_Check(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.json"), filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(good, []byte(`{"kind": "cuda", "arch": "sm_86"}`), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte(`{"kind": "cuda", "host": {"kind": "llvm", "mcqu": "x"}}`), 0o600))

	status, text, stderr := builtWith(t, dir, nil, "target", "check", "good.json")
	require.Zero(t, status, stderr)
	require.Equal(t, "ok: cuda -keys=cuda,gpu -arch=sm_86 -max_num_threads=1024 -thread_warp_size=32\n", text)

	status, text, stderr = builtWith(t, dir, nil, "target", "check", bad)
	require.Equal(t, 1, status)
	require.Empty(t, text)
	require.Contains(t, stderr, `tvmgo: `+bad+`: target: $.host.mcqu: kind "llvm" has no option "mcqu"`)
	require.Contains(t, stderr, `did you mean "mcpu"?`)

	status, text, _ = builtWith(t, dir, nil, "target", "check", "--json", bad)
	require.Equal(t, 1, status)
	var report struct {
		Valid bool
		Error errorRow
	}
	require.NoError(t, json.Unmarshal([]byte(text), &report), text)
	require.False(t, report.Valid)
	require.Equal(t, "$.host.mcqu", report.Error.Path)
	require.Equal(t, "mcpu", report.Error.Nearest)

	status, _, stderr = builtWith(t, dir, nil, "target", "check", "absent.json")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "absent.json: there is no such file")
}

// Arguments that are both a name and a file, and arguments that are neither.
func TestTarget_Files(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c"), []byte(`{"kind": "ext_dev"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list.json"), []byte(`[{"kind": "c"}]`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mark.json"), []byte("\ufeff{\"kind\": \"c\"}"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cuda"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop.json")))
	require.NoError(t, os.Symlink("loop.json", filepath.Join(dir, "loop")))
	for arg, want := range map[string]string{"c": "ok: c ", "./c": "ok: ext_dev ", "cuda": "ok: cuda "} {
		status, text, stderr := builtWith(t, dir, nil, "target", "check", arg)
		require.Zero(t, status, stderr)
		require.True(t, strings.HasPrefix(text, want), text)
	}
	for arg, want := range map[string]string{
		"folder": "folder is a directory", "./folder": "./folder is a directory", "./none": "./none: there is no such file",
		"none.json": "none.json: there is no such file", "list.json": "list.json: target: $: wrong type: expected an " +
			"object, found a list",
		"mark.json": "mark.json: target: $: not JSON: at byte 0 (line 1): the text starts with a byte order mark",
		"loop.json": "loop.json: too many",
		"none":      `there is no target kind and no tag "none"`, "/dev/null": "/dev/null: target: $: not JSON",
		"/dev/zero": "/dev/zero: target: $: the text has more than 1048576 bytes, which is too long for a target",
	} {
		status, text, stderr := builtWith(t, dir, nil, "target", "check", arg)
		require.Equal(t, 1, status, arg)
		require.Empty(t, text)
		require.Contains(t, stderr, want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	pipe := filepath.Join(dir, "pipe") // like <(…) in a shell
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	go func() { _ = os.WriteFile(pipe, []byte(`{"kind": "c"}`), 0o600) }()
	status, text, stderr := builtWith(t, dir, nil, "target", "check", pipe)
	require.Zero(t, status, stderr)
	require.Equal(t, "ok: c -keys=cpu\n", text)

	status, _, stderr = builtWith(t, dir, nil, "target", "show", "c", "--host", "")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "--host: target: $: the text is empty")
	_, byAlias, _ := builtWith(t, dir, nil, "target", "tags", "nvidia/h100")
	require.True(t, strings.HasPrefix(byAlias, "nvidia/nvidia-h100 "), byAlias)
}

func TestTarget_Schema(t *testing.T) {
	for _, args := range [][]string{{"schema", "cuda"}, {"schema"}} {
		var schema map[string]any
		targetJSON(t, &schema, args...)
		require.Contains(t, schema["$schema"], "json-schema.org")
	}
	status, _, stderr := builtWith(t, ".", nil, "target", "schema", "cudaa")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, `did you mean "cuda"?`)
}

func TestTarget_WrongCommandLines(t *testing.T) {
	for _, args := range [][]string{{"lst"}, {"list", "cuda", "llvm"}, {"show"}, {"check"},
		{"show", "cuda", "--hosts=x"}} {
		status, stdout, stderr := builtWith(t, ".", nil, append([]string{"target"}, args...)...)
		require.Equal(t, 2, status, "%v: %s%s", args, stdout, stderr)
		require.Contains(t, stderr, "usage: tvmgo target")
	}
	status, _, stderr := builtWith(t, ".", nil, "target", "check", "cuda", "-arch=sm_90")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "one argument, in quotes: 'cuda -arch=sm_90'")
}

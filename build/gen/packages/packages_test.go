package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/build/gen/internal/output"
	"tvmgo/internal/testing/must"
)

// root is the path of the repository from this folder, where go test runs.
const root = "../../.."

func TestDocument_IsUpToDate(t *testing.T) {
	stale, err := output.Stale(root, rendered)
	require.NoError(t, err)
	require.Empty(t, stale, "run: make docs-diagram")
	g, err := load(root)
	require.NoError(t, err)
	require.Empty(t, g.broken(), "these imports break the rules of %s", document)
	for _, p := range g.all {
		require.NotEmpty(t, p.Doc, "package %s has no comment", p.Path)
	}
}

// made returns a graph of paths with their imports.
func made(t *testing.T, imports map[string][]string) *graph {
	t.Helper()
	g := &graph{of: map[string]*pkg{}}
	for path, list := range imports {
		g.add(&pkg{Path: path, Imports: list})
	}
	require.NoError(t, g.arrange())
	return g
}

func TestArrange(t *testing.T) {
	g := made(t, map[string][]string{"capi": {"runtime"}, "runtime": {"internal/core"}, "internal/core": nil,
		"internal/probe": {"runtime"}, "bench/compare": {"internal/probe"}})
	for path, want := range map[string]string{"capi": "C ABI and command", "internal/core": "C core",
		"internal/probe": "tests", "bench/compare": "tools and examples"} {
		require.Equal(t, want, g.of[path].layer.title, path)
	}
	g = &graph{of: map[string]*pkg{}}
	g.add(&pkg{Path: "elsewhere"})
	require.ErrorContains(t, g.arrange(), "package elsewhere is in no layer")
}

// An indirect import has no line.
func TestDrawn_IsReduced(t *testing.T) {
	g := made(t, map[string][]string{"export": {"blob", "dlpack", "runtime"}, "runtime": {"blob", "internal/globals"},
		"blob": {"dlpack"}, "dlpack": nil, "internal/globals": nil})
	require.Equal(t, []string{"runtime"}, g.drawn(g.of["export"]))
	require.Equal(t, []string{"blob"}, g.drawn(g.of["runtime"]), "helpers are left out")
}

func TestBroken(t *testing.T) {
	g := made(t, map[string][]string{"runtime/all": {"runtime/cuda", "runtime/vulkan"}, "codegen": {"runtime"},
		"runtime":      nil,
		"runtime/cuda": {"runtime", "internal/kernels"}, "internal/kernels": {"runtime/vulkan"}, "runtime/vulkan": nil})
	require.Equal(t, []string{"runtime/cuda imports runtime/vulkan: devices are enabled one by one"}, g.broken())
	for path, want := range map[string]string{"runtime/cuda": "devices", "runtime/all": "devices", "runtime": "runtime"} {
		require.Equal(t, want, g.of[path].layer.title, path)
	}

	g = made(t, map[string][]string{"runtime/all": {"runtime/cuda"}, "runtime": {"runtime/all"},
		"export":       {"runtime/cuda"},
		"runtime/cuda": nil})
	require.Equal(t, []string{"export imports runtime/cuda: code is generated and exported without a device",
		"runtime imports runtime/all: a program that only loads modules contains none of them",
		"runtime imports runtime/cuda: a program that only loads modules contains none of them"}, g.broken())
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"Package te makes loops, and [Lower] makes a function.": "Makes loops, and Lower makes a function.",
		"Command env runs a|b of [1,2]:":                        `Runs a\|b of [1,2].`,
	} {
		require.Equal(t, want, sentence(&pkg{Doc: text}))
	}
}

func TestRewritten_WantsBothMarks(t *testing.T) {
	require.ErrorContains(t, must.Fail(rewritten([]byte("nothing"), made(t, nil))), "has no line")
}

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/literate"
	"tvmgo/internal/testing/must"
)

// documents returns all Markdown files for users.
func documents(t *testing.T) (docs []*literate.Document) {
	for _, pattern := range []string{"../*.md", "*.md", "../bench/*.md", "../examples/*/README.md"} {
		paths := must.Get(filepath.Glob(pattern))(t)
		for _, p := range paths {
			d := must.Get(literate.Read(p))(t)
			docs = append(docs, d)
		}
	}
	require.Greater(t, len(docs), 5)
	return docs
}

// Every link of every document leads to an existing file and heading.
func TestLinks(t *testing.T) {
	require.Empty(t, literate.CheckLinks(documents(t)))
}

// A document with contents lists each of its headings there, except its title and that of the contents.
func TestContents(t *testing.T) {
	for _, path := range []string{"../RATIONALE.md", "../CONTRIBUTING.md", "abi.md"} {
		d := must.Get(literate.Read(path))(t)
		linked := map[string]bool{}
		for _, l := range d.Links {
			linked[strings.TrimPrefix(l.Target, "#")] = true
		}
		var absent []string
		for anchor := range d.Anchors {
			if !linked[anchor] && anchor != "contents" {
				absent = append(absent, anchor)
			}
		}
		require.Len(t, absent, 1, "%s: its title, and headings that its contents lack", path)
	}
}

// elsewhere lists the documents whose code another test runs.
var elsewhere = map[string]string{
	"python.md": "capi, TestPythonDocs: it needs a Python package of its own",
}

// Every block of code compiles, runs and prints what the document shows.
func TestSnippets(t *testing.T) {
	root := must.Get(filepath.Abs(".."))(t)
	dist := os.Getenv("TVMGO_DIST")
	if dist == "" {
		dist = filepath.Join(root, "dist")
	}
	if _, err := os.Stat(filepath.Join(dist, "lib", "libtvmgo.so")); err != nil {
		require.Empty(t, os.Getenv("CI"), "the documents' programs need what make builds, in TVMGO_DIST or dist")
		t.Skip("the documents' programs need what make builds: run make first")
	}
	tags := os.Getenv("TAGS")
	if tags == "" {
		tags = "cuda,opencl"
	}
	r := &literate.Runner{Root: root, Dist: dist, Tags: tags}
	var docs []*literate.Document
	for _, d := range documents(t) {
		if elsewhere[d.Path] == "" {
			docs = append(docs, d)
		}
	}
	r.Run(t, docs)
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

// A table of bench/README.md that is made from a result is between two comments, the first of which names the file.
var madeTable = regexp.MustCompile(`(?s)<!-- made from results/(\S+) -->\n.*?<!-- end -->\n`)

// The tables of bench/README.md are those of the newest result of each machine, and have all rows. -update writes them.
func TestReadme_TablesAreOfResults(t *testing.T) {
	const path = "../README.md"
	readme := string(must.Get(os.ReadFile(path))(t))
	var shown []string
	made := madeTable.ReplaceAllStringFunc(readme, func(part string) string {
		file := madeTable.FindStringSubmatch(part)[1]
		shown = append(shown, file)
		r := must.Get(readReport(filepath.Join("..", "results", file), table))(t)
		var text bytes.Buffer
		r.markdown(&text, known)
		return "<!-- made from results/" + file + " -->\n\n" + text.String() + "\n<!-- end -->\n"
	})
	if golden.Updating() {
		require.NoError(t, os.WriteFile(path, []byte(made), 0o666))
	} else {
		is := strings.Split(readme, "\n")
		for i, want := range strings.Split(made, "\n") {
			require.Equal(t, want, is[i], "bench/README.md:%d: go test ./bench/compare -run Readme -update writes it", i+1)
		}
	}

	newest := map[string]string{} // by CPU; names of files begin with the date
	for _, path := range must.Get(filepath.Glob("../results/*-cpu.json"))(t) {
		newest[must.Get(readReport(path, table))(t).Machine.CPU] = filepath.Base(path)
	}
	require.NotEmpty(t, newest)
	for cpu, file := range newest {
		require.Contains(t, shown, file, "bench/README.md lacks a table of the newest result on %s", cpu)
	}
	require.Len(t, shown, len(newest), "bench/README.md has a table of an old result")
	for _, r := range table {
		require.Contains(t, made, "\n| "+r.label()+" | ", "the tables of bench/README.md lack row %s", r.ID)
	}
}

package core_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// A build with the tag noreflect has the same global functions. Those of reflect say what is missing and how to get it.
func TestNoReflect(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles package runtime")
	}
	header := must.Get(os.ReadFile("reflect/names/names.h"))(t)
	var absent []string
	for _, m := range regexp.MustCompile(`X\(\w+, "([^"]+)"`).FindAllStringSubmatch(string(header), -1) {
		absent = append(absent, m[1])
	}
	require.Contains(t, absent, "ffi.StructuralEqual")

	program := filepath.Join(t.TempDir(), "noreflect")
	out, err := exec.Command("go", "build", "-tags", "noreflect", "-o", program, "./testdata/noreflect").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program, absent...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	names, answers, _ := strings.Cut(string(out), "\n\n")
	require.Equal(t, runtime.GlobalNames(), strings.Split(names, "\n"))
	lines := strings.Split(strings.TrimSpace(answers), "\n")
	require.Len(t, lines, len(absent))
	for i, name := range absent {
		require.Equal(t, "true call function: "+name+": this build has no reflection: it was built with the tag noreflect: "+
			"build it without that tag", lines[i])
	}
}

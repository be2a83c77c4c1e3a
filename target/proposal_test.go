package target_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// proposalKinds registers kinds of third-party accelerators, and one from the proposal's discussion.
var proposalKinds = sync.OnceValue(func() error {
	for name, parts := range map[string][]target.KindOption{
		"dnnl": {target.DefaultKeys("dnnl", "cpu")},
		"acl":  {target.DefaultKeys("acl", "arm_cpu")},
		"ethosn": {target.DefaultKeys("ethosn"), target.Option("variant", target.String, target.OneOf("n77", "n78")),
			target.Option("sram_size", target.Int, target.Min(1)), target.Option("tops", target.Int, target.Default(4))},
		"packaged": {target.Option("runner", target.String), target.Option("driver", target.Nested),
			target.Option("target", target.Nested)},
		"aot": nil,
	} {
		if _, err := target.RegisterKind(name, dlpack.CPU, parts...); err != nil {
			return err
		}
	}
	return nil
})

// proposal reads the examples of the 2020 design and its discussion, with only their syntax corrected.
func proposal(t testing.TB) map[string]string {
	paths := must.Get(filepath.Glob("testdata/proposal/*.*"))(t)
	all := map[string]string{}
	for _, path := range paths {
		if filepath.Ext(path) == ".golden" {
			continue
		}
		text := must.Get(os.ReadFile(path))(t)
		all[path] = strings.TrimSpace(string(text))
	}
	require.Len(t, all, 26)
	return all
}

// TestProposal compares their canonical JSON with golden files, in which a placeholder replaces the CPU of this
// machine, which a bare "llvm" selects.
func TestProposal(t *testing.T) {
	quiet(t)
	require.NoError(t, proposalKinds())
	here := mustNew(t, "llvm")
	hosted := must.Get(here.WithHost(here))(t)
	for path, text := range proposal(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := mustNew(t, text)
			for _, form := range []any{got.JSON(), got.String(), got.Export()} {
				require.True(t, got.Equal(mustNew(t, form)), "%s", form)
			}
			json := strings.NewReplacer(hosted.JSON(), `"llvm here, with itself as host"`, here.JSON(),
				`"llvm here"`).Replace(got.JSON()) + "\n"
			golden.Text(t, strings.TrimSuffix(path, filepath.Ext(path))+".golden", json)
		})
	}
}

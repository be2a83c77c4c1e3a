package target

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// Declared, which does not create the kinds, agrees with the created kinds.
func TestDeclared(t *testing.T) {
	for _, b := range builtins() {
		k := must.Get(LookupKind(b.name))(t)
		require.True(t, k.BuiltIn(), b.name)
		declared, composite := Declared(b.name)
		require.True(t, declared, b.name)
		require.Equal(t, k.IsComposite(), composite, b.name)
	}
	declared, _ := Declared("own_kind_of_early_test")
	require.False(t, declared)
	own := must.Get(RegisterKind("own_kind_of_early_test", dlpack.CPU, Composite()))(t)
	require.False(t, own.BuiltIn())
	declared, composite := Declared("own_kind_of_early_test")
	require.True(t, declared && composite)
}

// Attributes that init functions set are kept until the kinds are created, which happens at their first use.
func TestSetAttr_Early(t *testing.T) {
	const child = "TVMGO_TEST_EARLY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSetAttr_Early$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestSetAttr_Early")
		return
	}
	require.Nil(t, kinds.all.Load(), "no kind has been used yet")
	require.NoError(t, SetAttr("llvm", "early", 7))
	require.NoError(t, SetAttr("cuda", "early", 8))
	require.NoError(t, SetAttr("llvm", ColumnPartitioner, func(*Target, *Op) (bool, string) { return true, "" }))
	require.ErrorIs(t, SetAttr("llvm", "early", 9), ErrDuplicate)
	require.ErrorIs(t, SetAttr("llvm", ColumnPartitioner, 9), ErrRegister)
	require.ErrorIs(t, SetAttr("llvm", "no column", 9), ErrRegister)
	declared, _ := Declared("llvm")
	require.True(t, declared)
	require.Nil(t, kinds.all.Load(), "the kinds are still not created")

	require.ErrorIs(t, SetAttr("llvm", ColumnStrategy, Strategy(func(*Graph, *Target) ([]Assignment, error) {
		return nil,
			nil
	})), ErrRegister)
	require.NotNil(t, kinds.all.Load(), "setting a strategy uses the kind")
	for name, want := range map[string]int{"llvm": 7, "cuda": 8} {
		k := must.Get(LookupKind(name))(t)
		got, ok := Attr[int](k, "early")
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	k := must.Get(LookupKind("llvm"))(t)
	_, ok := Attr[Predicate](k, ColumnPartitioner)
	require.True(t, ok)
	require.ErrorIs(t, SetAttr("llvm", "early", 9), ErrDuplicate)
	require.NoError(t, SetAttr("llvm", "late", 1))
}

package llvm_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/llvm"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
)

// Without a suitable compiler, the error names the one that was tried and the package to install.
func TestBuild_NoClang(t *testing.T) {
	const install = "install it (Debian: apt install clang; Fedora: dnf install clang; Alpine: apk add clang), or name " +
		"one by TVMGO_CLANG"
	nowhere := filepath.Join(t.TempDir(), "bin")
	for _, row := range []struct{ name, path, clang, want string }{
		{"none in PATH", nowhere, "", "there is no clang in PATH: " + install},
		{"named one missing", "", "/no/such/clang -v", `TVMGO_CLANG names "/no/such/clang"`},
		{"no clang", "", script(t, "gcc", "echo gcc version 12\n"),
			`gcc (named by TVMGO_CLANG) is not clang: its version is "gcc version 12": ` + install},
		{"old", "", script(t, "clang", "echo Debian clang version 7.0.1-8\n"),
			"is clang 7.0.1, which is too old: want 11 or newer: " + install},
		{"failing", "", script(t, "clang", "echo broken >&2\nexit 3\n"), "does not work: "},
	} {
		if row.path != "" {
			t.Setenv("PATH", row.path)
		}
		t.Setenv("TVMGO_CLANG", row.clang)
		err := buildError(t, "llvm")
		require.ErrorIs(t, err, runtime.ErrNotSupported, row.name)
		require.ErrorContains(t, err, row.want, row.name)
		require.ErrorContains(t, err, `build for kind "llvm": the C that kind llvm generates is compiled by clang`)
		if row.path != "" {
			t.Setenv("PATH", pathAtStart)
		}
	}
	t.Setenv("TVMGO_CLANG", "")
	requireAdds(t, built(t, parsed(t, addProgram), "llvm")) // the next build searches again
}

// The generator rejects targets of other kinds.
func TestBuild_OtherTarget(t *testing.T) {
	for _, k := range []*target.Target{nil, {}, targetOf(t, "c")} {
		_, err := llvm.Build(parsed(t, addProgram), k)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		require.ErrorContains(t, err, "want one of kind llvm")
	}
}

// A clang with its version in its file name is found, too.
func TestBuild_ClangWithVersion(t *testing.T) {
	needClang(t)
	real := must.Get(exec.LookPath("clang"))(t)
	dir := filepath.Dir(script(t, "clang-17", "PATH="+pathAtStart+" exec "+real+" \"$@\"\n"))
	t.Setenv("PATH", dir)
	require.Contains(t, source(t, built(t, parsed(t, addProgram), "llvm"), "ll"), "__tvm_ffi_add")
}

// If clang fails later, the error contains its message.
func TestBuild_ClangFailsLater(t *testing.T) {
	needClang(t)
	t.Setenv("TVMGO_CLANG", script(t, "clang", `case " $* " in *" -std=gnu11 "*) echo "it is full" >&2; exit 70;; esac
exec clang "$@"
`))
	m := built(t, parsed(t, addProgram), "llvm")
	_, err := m.GetSource("ll")
	require.ErrorContains(t, err, "compile the generated C: ")
	require.ErrorContains(t, err, "it is full")
	require.NotEmpty(t, source(t, m, "c"))
	_, err = m.Function("add")
	require.ErrorContains(t, err, "function add of a module of kind llvm: ")
	require.ErrorContains(t, err, "it is full")

	t.Setenv("TVMGO_CLANG", script(t, "clang", `case " $* " in *" -shared "*) echo "no linker" >&2; exit 1;; esac
exec clang "$@"
`))
	require.ErrorContains(t, must.Fail(built(t, parsed(t, addProgram), "llvm").Function("add")), "no linker")

	t.Setenv("TVMGO_CLANG", script(t, "clang", `case "$1" in --version) exec clang --version;; esac
echo "error: out of luck" >&2
exit 1
`))
	require.ErrorContains(t, buildError(t, "llvm -opt-level=2"), "fails on this target (")
	require.ErrorContains(t, buildError(t, "llvm -opt-level=2"), "out of luck")
}

package target_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// Options that do not affect the generated module are rejected in each form, and the error names where they belong.
func TestNew_OutOfScope(t *testing.T) {
	for where, names := range map[string]string{
		"export.Library": `shared L I fPIC fpic lm lcudart L/usr/lib I/usr/include Wl,-rpath,/opt Wl,--as-needed ldflags cc
			link-options link_options LDFLAGS rpath
			export output o keep static pthread nostdlib cflags soname sysroot strip flto library lib-path save-temps
				version-script`,
		"when the module is loaded or called": `device_id num-threads num-streams cpu-affinity timeout memory-limit rpc-key
			verbose`,
		"for the executor": `runtime executor link-params link_params unpacked-api interface-api
			workspace-pools usmp aot`,
	} {
		for _, name := range strings.Fields(names) {
			for _, x := range []any{"llvm -" + name + "=x", "llvm --" + name, "nvidia/h100 -host='c -" + name + "=1'",
				map[string]any{"kind": "cuda", "arch": "sm_90", name: true}, map[string]any{"kind": "composite",
					"devices": []any{map[string]any{"kind": "c", name: 1}}}} {
				_, err := target.New(x)
				require.ErrorIs(t, err, target.ErrScope, "%v", x)
				require.ErrorContains(t, err, where, "%v", x)
				require.ErrorContains(t, err, name, "%v", x)
			}
			require.ErrorIs(t, must.Fail(target.Get[string](mustNew(t, "c"), name)), target.ErrScope)
		}
	}
}

// No option of a kind is rejected in this way, nor is any option that affects the code.
func TestNew_InScope(t *testing.T) {
	for _, name := range target.Kinds() {
		if strings.Contains(name, "-") { // registered by another test
			continue
		}
		k := must.Get(target.LookupKind(name))(t)
		for _, o := range k.Options() {
			for _, n := range append(o.Aliases, o.Name) {
				_, err := target.New(map[string]any{"kind": "test", n: struct{}{}})
				require.NotErrorIs(t, err, target.ErrScope, n)
			}
		}
	}
	for _, name := range []string{"mcqu", "O2", "march", "lmod"} {
		require.ErrorIs(t, must.Fail(target.New("test -"+name+"=1")), target.ErrUnknown, name)
	}
}

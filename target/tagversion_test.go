package target_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

func archOf(t *testing.T, x *target.Target) string {
	t.Helper()
	return must.Get(target.Get[string](x, "arch"))(t)
}

func hashOf(t *testing.T, ref string) string {
	t.Helper()
	info := must.Get(target.LookupTag(ref))(t)
	return info.Hash
}

// TestRegisterTag_VersionIsForGood refers to another tag from every possible position in a version. If that tag
// changes, the version and its hash do not change, and the version can be registered again.
func TestRegisterTag_VersionIsForGood(t *testing.T) {
	kind := fresh("holder")
	must.Get(target.RegisterKind(kind, dlpack.ExtDev, target.Option("driver", target.Nested),
		target.Option("parts", target.ListOf(target.Nested))))(t)
	for what, config := range map[string]func(ref string) map[string]any{
		"base":              func(ref string) map[string]any { return map[string]any{"tag": ref} },
		"base beside kind":  func(ref string) map[string]any { return map[string]any{"kind": "cuda", "tag": ref} },
		"base, fields over": func(ref string) map[string]any { return map[string]any{"tag": ref, "libs": "cudnn"} },
		"host": func(ref string) map[string]any {
			return map[string]any{"kind": "cuda", "arch": "sm_50",
				"host": ref}
		},
		"host, alias": func(ref string) map[string]any {
			return map[string]any{"kind": "cuda", "arch": "sm_50", "target_host": ref}
		},
		"host, map": func(ref string) map[string]any {
			return map[string]any{"id": "cuda", "arch": "sm_50", "host": map[string]any{"tag": ref}}
		},
		"host, command line": func(ref string) map[string]any {
			return map[string]any{"kind": "cuda", "arch": "sm_50", "host": ref + " -model=x"}
		},
		"host, JSON": func(ref string) map[string]any {
			return map[string]any{"kind": "cuda", "arch": "sm_50", "host": fmt.Sprintf(`{"tag":%q}`, ref)}
		},
		"host's host": func(ref string) map[string]any {
			return map[string]any{"kind": "cuda", "arch": "sm_50", "host": map[string]any{"kind": "c", "host": ref}}
		},
		"composite": func(ref string) map[string]any {
			return map[string]any{"kind": "composite", "devices": []any{"c", ref, map[string]any{"kind": "c", "host": ref}}}
		},
		"composite, alias": func(ref string) map[string]any {
			return map[string]any{"kind": "composite", "targets": []string{"c", ref}}
		},
		"option of a kind": func(ref string) map[string]any { return map[string]any{"kind": kind, "driver": ref} },
		"options of a kind": func(ref string) map[string]any {
			return map[string]any{"kind": kind,
				"parts": []any{"c", ref}}
		},
	} {
		for how, change := range map[string]func(base string) error{
			"newer version": func(base string) error {
				return target.RegisterTag(base+":2", map[string]any{"kind": "cuda", "arch": "sm_80"})
			},
			"replaced": func(base string) error {
				return target.ReplaceTag(base, map[string]any{"kind": "cuda", "arch": "sm_80"})
			},
			"of another kind": func(base string) error { return target.ReplaceTag(base, map[string]any{"kind": "c"}) },
		} {
			t.Run(what+"/"+how, func(t *testing.T) {
				base, version := fresh("good/y"), fresh("good/x")+":1"
				first := base
				if how == "newer version" {
					first += ":1"
				}
				require.NoError(t, target.RegisterTag(first, map[string]any{"kind": "cuda", "arch": "sm_70"}))
				require.NoError(t, target.RegisterTag(version, config(base)))
				before, hash := mustNew(t, version), hashOf(t, version)
				require.Contains(t, before.JSON(), "sm_70")
				require.NoError(t, change(base))
				after := mustNew(t, version)
				require.True(t, before.Equal(after), "%s\n%s", before.JSON(), after.JSON())
				require.Equal(t, hash, hashOf(t, version))
				require.Equal(t, version, after.Tag())
				require.NoError(t, target.RegisterTag(version, config(base)), "an equal configuration is accepted")
				require.True(t, before.Equal(mustNew(t, version)))
				for _, form := range []any{before.JSON(), before.String(), before.Export()} {
					require.True(t, before.Equal(mustNew(t, form)), "%v", form)
				}
				other := config(base)
				other["model"] = "another"
				require.Error(t, target.RegisterTag(version, other))
				require.True(t, before.Equal(mustNew(t, version)))
			})
		}
	}
}

// TestRegisterTag_VersionOfAFollower uses a tag without a version between a tag with a version and a tag that changes.
func TestRegisterTag_VersionOfAFollower(t *testing.T) {
	base, through, name := fresh("good/y"), fresh("good/z"), fresh("good/x")
	require.NoError(t, target.RegisterTag(base+":1", map[string]any{"kind": "cuda", "arch": "sm_70"}))
	require.NoError(t, target.RegisterTag(through, map[string]any{"tag": base, "host": map[string]any{"kind": "c",
		"model": "of z"}}))
	config := map[string]any{"tag": through, "registers_per_block": 65536}
	require.NoError(t, target.RegisterTag(name+":1", config))
	before, hash := mustNew(t, name+":1"), hashOf(t, name+":1")
	require.NoError(t, target.RegisterTag(base+":2", map[string]any{"kind": "cuda", "arch": "sm_80"}))
	require.Equal(t, "sm_80", archOf(t, mustNew(t, through)), "it has no version, so it changes with its base")
	require.NoError(t, target.ReplaceTag(through, map[string]any{"kind": "c"}))
	require.True(t, before.Equal(mustNew(t, name+":1")))
	require.Equal(t, hash, hashOf(t, name+":1"))
	require.NoError(t, target.RegisterTag(name+":1", config))
	require.Equal(t, "of z", mustNew(t, name+":1").Host().Attrs()["model"])
	require.ErrorIs(t, target.RegisterTag(name+":2", config), target.ErrUnknown,
		"a new registration uses the current tag, and kind c has no such option")
}

// TestReplaceTag_LeavesNoTagBroken checks that tags based on others remain valid.
func TestReplaceTag_LeavesNoTagBroken(t *testing.T) {
	quiet(t)
	base, hosted, composite, second := fresh("good/a"), fresh("good/b"), fresh("good/c"), fresh("good/d")
	require.NoError(t, target.RegisterTag(base, map[string]any{"kind": "cuda", "arch": "sm_70"}))
	require.NoError(t, target.RegisterTag(second, map[string]any{"tag": base, "registers_per_block": 65536}))
	require.NoError(t, target.RegisterTag(hosted, map[string]any{"kind": "c", "host": base + " -arch=sm_75"}))
	require.NoError(t, target.RegisterTag(composite, map[string]any{"kind": "composite", "devices": []any{"c",
		map[string]any{"tag": second}}}))
	all := []string{base, second, hosted, composite}
	before := map[string]*target.Target{}
	for _, ref := range all {
		before[ref] = mustNew(t, ref)
	}
	err := target.ReplaceTag(base, map[string]any{"kind": "opencl"})
	require.ErrorIs(t, err, target.ErrRegister)
	require.ErrorContains(t, err,
		"register tag \""+base+"\": tag \""+hosted+"\" is based on it, and would become invalid: $.host.arch")
	require.ErrorContains(t, err, "replace that tag first")
	for _, ref := range all {
		require.True(t, before[ref].Equal(mustNew(t, ref)), "no tag has changed")
	}
	require.NoError(t, target.ReplaceTag(base, map[string]any{"kind": "cuda", "arch": "sm_86"}))
	require.Equal(t, "sm_86", archOf(t, mustNew(t, second)), "it changes with its base")
	require.NoError(t, target.ReplaceTag(hosted, map[string]any{"kind": "c"}))
	require.NoError(t, target.ReplaceTag(second, map[string]any{"kind": "c"}))
	require.NoError(t, target.ReplaceTag(base, map[string]any{"kind": "opencl"}), "no tag depends on it any more")

	// A newer version changes the meaning of a name without a version.
	versioned, follower := fresh("good/v"), fresh("good/w")
	require.NoError(t, target.RegisterTag(versioned+":1", map[string]any{"kind": "cuda", "arch": "sm_70"}))
	require.NoError(t, target.RegisterTag(follower, map[string]any{"tag": versioned, "arch": "sm_75"}))
	require.ErrorContains(t, target.RegisterTag(versioned+":2", map[string]any{"kind": "c"}), follower)
	require.NoError(t, target.RegisterTag(versioned+":0.9", map[string]any{"kind": "c"}), "an older one changes nothing")
	require.NoError(t, target.RegisterTag(versioned+":2", map[string]any{"kind": "cuda", "arch": "sm_80",
		"libs": "cudnn"}))
	require.Equal(t, []string{"cudnn"}, mustNew(t, follower).Libs())

	// With a kind, a name that is not a tag is a label, and remains one in tags that are already registered.
	label, labelled := fresh("good/label"), fresh("good/labelled")
	require.NoError(t, target.RegisterTag(labelled, map[string]any{"kind": "cuda", "arch": "sm_70",
		"host": map[string]any{"kind": "c", "tag": label}}))
	require.NoError(t, target.RegisterTag(label, map[string]any{"kind": "opencl"}))
	require.Equal(t, "c", mustNew(t, labelled).Host().Kind().Name())
}

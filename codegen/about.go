package codegen

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"tvmgo/codegen/c"
	"tvmgo/internal/version"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/alias"
)

// aboutOf describes the origin of a program's functions, for their metadata: the attribute [c.AttrAbout].
func aboutOf(funcs []*tir.PrimFunc, of func(name string) *target.Target) (string, error) {
	all := make(map[string]c.About, len(funcs))
	for _, f := range funcs {
		t := of(f.Name)
		hash := sha256.New()
		fmt.Fprintf(hash, "%s\n%s", f, t.JSON())
		all[f.Name] = c.About{Targets: []c.TargetOfCode{c.NewTargetOfCode(t)}, Builder: version.Builder(),
			ContentHash: fmt.Sprintf("sha256:%x", hash.Sum(nil))}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// aliasesOf lists which arguments of a program's functions must not overlap, for the attribute [c.AttrAliases]. It is
// computed before the passes run, because the pairs are harder to find in the code that passes make.
func aliasesOf(m *tir.IRModule, of func(name string) *target.Target) (string, error) {
	all := make(map[string][]alias.Pair, len(m.Funcs))
	for _, f := range m.Funcs {
		if c.AliasCheck(of(f.Name)) {
			all[f.Name] = alias.Pairs(m, f)
		} else {
			all[f.Name] = nil
		}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

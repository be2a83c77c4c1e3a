package c

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"tvmgo/codegen/abi"
)

// A long program becomes several C files. Functions that check arguments and raise errors (abi.Shared) are then
// compiled once, in a file of their own; functions that bodies call are in each file.

// sharedID is a placeholder for the end of the names of shared functions, which depends on the code of all of them,
// because a library may be linked from several programs. No program contains it.
const sharedID = "\x02"

// hidden precedes the shared functions, weak the symbols that several files define.
const (
	hidden = `__attribute__((visibility("hidden"))) `
	weak   = `__attribute__((weak)) `
)

// sharedFunction matches a function after abi.Shared: its head, its name and its body.
var sharedFunction = regexp.MustCompile(`(?ms)^` + abi.Shared + `([^{]*?\b(tvmgo_\w+)\([^{]*\)) \{\n.*?^\}\n`)

// withoutBodies returns a piece without the bodies of shared functions.
func withoutBodies(p abi.Piece) string {
	code := sharedFunction.ReplaceAllString(p.Code, "#define ${2} ${2}_"+sharedID+"\n"+hidden+"${1};\n")
	return strings.ReplaceAll(code, abi.Weak, weak)
}

// withBodies returns a piece with them.
func withBodies(p abi.Piece) string {
	return sharedFunction.ReplaceAllStringFunc(p.Code, func(f string) string {
		name := sharedFunction.FindStringSubmatch(f)[2]
		return "#define " + name + " " + name + "_" + sharedID + "\n" + strings.Replace(f, abi.Shared, weak+hidden, 1)
	})
}

// addShared adds the file of the shared functions to the files of one program, whose pieces are given.
func (e *Emitter) addShared(texts []string, pieces [][]abi.Piece) []string {
	used := slices.Concat(pieces...)
	needed := map[string]bool{}
	var need func(name string)
	need = func(name string) {
		if !needed[name] {
			needed[name] = true
			for _, other := range snippets.Needs(name) {
				need(other)
			}
		}
	}
	for _, p := range used {
		if strings.Contains(p.Code, abi.Shared) {
			need(p.Name)
		}
	}
	if len(needed) == 0 {
		return texts
	}
	all := text{}
	all.WriteString((&generator{hooks: &e.Hooks, classic: e.Classic}).head())
	for _, p := range used { // each follows those that it needs
		if needed[p.Name] {
			needed[p.Name] = false
			all.line("")
			all.WriteString(withBodies(p))
		}
	}
	shared := all.String()
	sum := sha256.Sum256([]byte(shared))
	id := hex.EncodeToString(sum[:8])
	done := make([]string, 0, len(texts)+1)
	for _, t := range append(texts, shared) {
		done = append(done, strings.ReplaceAll(t, sharedID, id))
	}
	return done
}

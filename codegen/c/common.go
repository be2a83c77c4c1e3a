package c

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// commonMark stands in snippets instead of static before functions that the texts of one program share: the text that [commonText] makes has them, so that they are
// compiled once. They are those that check arguments and make errors; what a body calls stays with it.
const commonMark = "TVMGO_COMMON "

// commonID stands for what follows the names of the shared functions, which depends on their text: libraries may be linked of several programs. It is nothing
// that a program can have.
const commonID = "\x02"

// hidden stands before the shared functions.
const hidden = `__attribute__((visibility("hidden"))) `

// piece is a snippet that a text has.
type piece struct{ name, code string }

// commonFunction is a function with the mark: what is before its body, and the body.
var commonFunction = regexp.MustCompile(`(?ms)^` + commonMark + `([^{]*\b(tvmgo_\w+)\([^{]*\)) \{\n.*?^\}\n`)

// own is the piece of a text that stands alone.
func (p piece) own() string { return strings.ReplaceAll(p.code, commonMark, "static ") }

// declared is the piece without the bodies of shared functions.
func (p piece) declared() string {
	return commonFunction.ReplaceAllString(p.code, "#define ${2} ${2}_"+commonID+"\n"+hidden+"${1};\n")
}

// defined is the piece with them.
func (p piece) defined() string {
	return commonFunction.ReplaceAllStringFunc(p.code, func(f string) string {
		name := commonFunction.FindStringSubmatch(f)[2]
		return "#define " + name + " " + name + "_" + commonID + "\n" + strings.Replace(f, commonMark, "__attribute__((weak)) "+hidden, 1)
	})
}

func (p piece) isCommon() bool { return strings.Contains(p.code, commonMark) }

// shareCommon adds the text of the functions that the texts of one program share, of which the pieces are given, to these.
func (e *Emitter) shareCommon(texts []string, pieces [][]piece) []string {
	byName := map[string]piece{}
	for _, list := range pieces {
		for _, p := range list {
			byName[p.name] = p
		}
	}
	needed := map[string]bool{}
	var need func(name string)
	need = func(name string) {
		if _, ok := byName[name]; ok && !needed[name] {
			needed[name] = true
			for _, other := range snippetNeeds[name] {
				need(other)
			}
		}
	}
	for name, p := range byName {
		if p.isCommon() {
			need(name)
		}
	}
	if len(needed) == 0 {
		return texts
	}
	all := text{}
	all.WriteString((&generator{hooks: &e.Hooks, classic: e.Classic, several: true}).head())
	written := map[string]bool{}
	for _, list := range pieces { // each stands behind those that it needs
		for _, p := range list {
			if needed[p.name] && !written[p.name] {
				written[p.name] = true
				all.line("")
				all.WriteString(p.defined())
			}
		}
	}
	common := all.String()
	sum := sha256.Sum256([]byte(common))
	id := hex.EncodeToString(sum[:8])
	done := make([]string, 0, len(texts)+1)
	for _, t := range append(texts, common) {
		done = append(done, strings.ReplaceAll(t, commonID, id))
	}
	return done
}

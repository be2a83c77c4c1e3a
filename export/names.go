package export

import (
	"regexp"
	"strings"
)

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkNames checks the function names of the linked modules: compiled functions need C identifiers, and two functions
// with one name can't be linked together.
func (t *tree) checkNames() error {
	owner := map[string]int{}
	for i, n := range t.nodes {
		if !n.linked {
			continue
		}
		for _, name := range n.module.Functions() {
			if n.kind == "c" && !identifier.MatchString(name) {
				return invalid("%s: the function name %q is no C identifier (letters, digits and _, no digit first): rename it",
					t.place(i), name)
			}
			if name == "" || hasNUL(name) {
				return invalid("%s: the function name %q can't be the name of a symbol", t.place(i), name)
			}
			key := strings.TrimPrefix(name, functionPrefix)
			if first, taken := owner[key]; taken {
				if first == i {
					return invalid("%s: lists the function %q twice", t.place(i), name)
				}
				return invalid("%s and %s both have a function %q, and are linked together: rename one", t.place(first), t.place(i),
					name)
			}
			owner[key] = i
		}
	}
	return nil
}

// functionPrefix precedes the names of functions of the modern calling convention.
const functionPrefix = "__tvm_ffi_"

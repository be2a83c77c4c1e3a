package modelcall

import (
	"fmt"
	"strings"

	"tvmgo/internal/nearest"
)

// unknown is the error for an input that no parameter has the name of.
func unknown(name string, names []string) error {
	hint := ""
	if n := nearest.Name(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return fmt.Errorf("there is no parameter %q%s: it has %s", name, hint, strings.Join(names, ", "))
}

package target

import (
	"fmt"
	"strings"
)

// listed names what is known, for a message: at most two dozen.
func listed(names []string) string {
	const most = 24
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(", and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

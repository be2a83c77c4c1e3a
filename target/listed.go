package target

import (
	"fmt"
	"strings"
)

// listed joins names for a message: at most 24 of them.
func listed(names []string) string {
	const most = 24
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(", and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

package runtime

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

func cPointer(o *C.TVMFFIObject) unsafe.Pointer { return unsafe.Pointer(o) }

// takeStrings turns an owned Array of Str into a slice.
func (o object) takeStrings() []string {
	v, err := takeObject(o, 0)
	if err != nil {
		return nil
	}
	items, _ := v.([]any)
	names := make([]string, 0, len(items))
	for _, i := range items {
		if s, ok := i.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

// suggest ends a message about a missing name: the nearest one that exists.
func suggest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := distance(name, n, least); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of single-byte edits from a to b; limit when it is no less than that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}

// listed names what exists, for a message: at most a dozen.
func listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(", and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

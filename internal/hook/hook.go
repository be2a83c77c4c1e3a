// Package hook lets package runtime answer calls from C with functions of packages that it cannot import. Such a
// package supplies its function when it is initialised.
package hook

import "sync"

// Function takes and returns the values of a packed function.
type Function func(args ...any) (any, error)

// Owned is a result that is given away: whoever calls the function has it alone.
type Owned struct{ Value interface{ Close() error } }

var functions sync.Map // name → Function

// Set gives the body of a name; the last one counts.
func Set(name string, f Function) { functions.Store(name, f) }

// Waits says whether C has a name of its own for a global function that it registers when it is first used; package runtime sets it.
var Waits = func(name string) bool { return false }

// Get returns the body of a name, or nil.
func Get(name string) Function {
	f, _ := functions.Load(name)
	body, _ := f.(Function)
	return body
}

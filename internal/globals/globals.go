// Package globals holds the bodies of global functions that C declares and packages above package runtime implement.
// Such a package sets its bodies when it is initialised; runtime, which cannot import it, calls them.
package globals

import "sync"

// Function takes and returns the values of a packed function.
type Function func(args ...any) (any, error)

// Owned is a result that only the caller of the function refers to: a value that can be closed, or a list or a map of
// them.
type Owned struct{ Value any }

var functions sync.Map // name → Function

// Set sets the body of a global function; the last call counts.
func Set(name string, f Function) { functions.Store(name, f) }

// Declared reports whether C registers a global function of this name when it is first used. Package runtime sets it.
var Declared = func(name string) bool { return false }

// Get returns the body of a name, or nil.
func Get(name string) Function {
	f, _ := functions.Load(name)
	body, _ := f.(Function)
	return body
}

// Package raise carries errors between Go and the C core. The C error object of a Go error contains it, so that Go code
// that called C gets the same error again. The package depends on the core's package bridge and on package fault.
package raise

import _ "tvmgo/internal/needscgo"

// Package raise carries errors between Go and the C core. A Go error travels inside the error object that is made of
// it, so that Go code above C finds it again. It depends on the core's package bridge and on package fault.
package raise

import _ "tvmgo/internal/needscgo"

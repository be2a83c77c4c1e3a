//go:build cuda

package cuda

import "sync/atomic"

// loaded is set when the devices are.
var loaded atomic.Pointer[Driver]

// Loaded reports the driver in use. It is empty until a device was asked for with success.
func Loaded() Driver {
	d := loaded.Load()
	if d == nil {
		return Driver{}
	}
	return *d
}

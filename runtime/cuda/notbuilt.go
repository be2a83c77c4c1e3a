//go:build !cuda

package cuda

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core -I${SRCDIR}/../../include
*/
import "C"

import _ "tvmgo/internal/core" // the table of devices

// Loaded reports the driver in use: none, without the tag cuda.
func Loaded() Driver { return Driver{} }

// Package call holds function objects of the C core, calls between the two ABIs, and the table of global functions. Its
// contract is in call.h.
package call

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import _ "tvmgo/internal/core/object"

// Package profile records what calls do: the events of a profile. Its contract is in profile.h.
package profile

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/.. -I${SRCDIR}/../../../include
*/
import "C"

import _ "tvmgo/internal/core/object"

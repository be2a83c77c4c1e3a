// Package core holds the C core that every program of this module links: objects, calls, errors,
// threads, devices and loaded libraries. It has no Go API; package runtime is the one above it.
package core

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../include
#cgo LDFLAGS: -ldl -lpthread
*/
import "C"

//go:generate go run ./devicenames

import _ "tvmgo/include" // the headers, so that vendoring takes them along

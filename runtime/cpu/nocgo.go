//go:build !cgo

package cpu

import _ "tvmgo/internal/needscgo"

//go:build !cgo

package control

import _ "tvmgo/internal/needscgo"

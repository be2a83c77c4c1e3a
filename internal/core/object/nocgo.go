//go:build !cgo

package object

import _ "tvmgo/internal/needscgo"

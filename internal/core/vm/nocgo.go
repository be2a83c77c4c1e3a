//go:build !cgo

package vm

import _ "tvmgo/internal/needscgo"

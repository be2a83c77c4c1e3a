//go:build !cgo

package compilecommand

import _ "tvmgo/internal/needscgo"

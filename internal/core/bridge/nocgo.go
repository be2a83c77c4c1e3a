//go:build !cgo

package bridge

import _ "tvmgo/internal/needscgo"

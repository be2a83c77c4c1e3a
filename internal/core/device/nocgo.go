//go:build !cgo

package device

import _ "tvmgo/internal/needscgo"

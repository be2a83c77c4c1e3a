//go:build !cgo

package target

import _ "tvmgo/internal/needscgo"

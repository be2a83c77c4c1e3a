//go:build !cgo

package emptycgo

import _ "tvmgo/internal/needscgo"

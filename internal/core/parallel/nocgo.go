//go:build !cgo

package parallel

import _ "tvmgo/internal/needscgo"

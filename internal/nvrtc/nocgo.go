//go:build !cgo

package nvrtc

import _ "tvmgo/internal/needscgo"

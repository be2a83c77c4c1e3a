//go:build !cgo

package dl

import _ "tvmgo/internal/needscgo"

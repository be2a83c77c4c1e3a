//go:build !cgo

package call

import _ "tvmgo/internal/needscgo"

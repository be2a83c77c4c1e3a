//go:build !cgo

package absent

import _ "tvmgo/internal/needscgo"

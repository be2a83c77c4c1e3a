//go:build !cgo

package needsheaders

import _ "tvmgo/internal/needscgo"

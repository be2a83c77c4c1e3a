//go:build !cgo

package calls

import _ "tvmgo/internal/needscgo"

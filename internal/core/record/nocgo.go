//go:build !cgo

package record

import _ "tvmgo/internal/needscgo"

//go:build !cgo

package loader

import _ "tvmgo/internal/needscgo"

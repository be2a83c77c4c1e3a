//go:build !cgo

package backend

import _ "tvmgo/internal/needscgo"

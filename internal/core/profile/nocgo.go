//go:build !cgo

package profile

import _ "tvmgo/internal/needscgo"

//go:build !cgo

package core

import _ "tvmgo/internal/needscgo"

//go:build !cgo

package reflect

import _ "tvmgo/internal/needscgo"

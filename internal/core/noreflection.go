//go:build noreflect

package core

import _ "tvmgo/internal/core/reflect/absent"

//go:build runtimeonly

package runtime

// A build that only runs modules has no targets: their global functions, in C, are errors that say so, and an object of
// their types is an *Object as any other.

func (*packer) addTarget(any) (added bool, err error) { return false, nil }

func takeTarget(object) (v any, isTarget bool, err error) { return nil, false, nil }

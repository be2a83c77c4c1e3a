package runtime

// RestoreKind registers the built-in loaders of a kind again.
func RestoreKind(kind string) {
	takers.Delete(kind)
	for _, prefix := range []string{modernLoader, legacyLoader} {
		if err := restoreBuiltin(prefix + kind); err != nil {
			panic(err)
		}
	}
}

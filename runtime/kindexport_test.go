package runtime

// RestoreKind gives a built-in kind its own loaders back.
func RestoreKind(kind string) {
	takers.Delete(kind)
	for _, prefix := range []string{modernLoader, legacyLoader} {
		if err := restoreBuiltin(prefix + kind); err != nil {
			panic(err)
		}
	}
}

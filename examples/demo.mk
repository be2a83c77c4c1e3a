# make demo: compiles a kernel and runs it from C, Go and the command line. Needs what `make` built.
demo:
	@CC="$(CC)" GO="$(GO)" sh examples/demo.sh "$(DIST)"

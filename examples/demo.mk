# make demo: compiles a kernel and runs it from C, C++, Go and the command line. Needs what `make` built.
demo:
	@CC="$(CC)" CXX="$(CXX)" GO="$(GO)" sh examples/demo.sh "$(DIST)"

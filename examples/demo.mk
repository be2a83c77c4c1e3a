# make demo: builds tensor expressions and kernels, and runs them from C, C++, Go, Python, the command line and Apache
# TVM, on the CPU and on every device found; where it may, it installs a driver that makes a device of the CPU. Needs
# what `make` built.
demo:
	@sh build/scripts/deps.sh devices
	@CC="$(CC)" CXX="$(CXX)" GO="$(GO)" sh examples/demo.sh "$(DIST)"

# make bench       compares libtvmgo.so with Apache TVM's libraries (bench/README.md)
# make bench-once  executes every Go benchmark of the repository once, to check that it still works

BENCH_ROUNDS ?= 21

.PHONY: bench bench-once
bench: deps dist
	$(GO) run $(GOTAGS) ./bench/compare -lib $(LIB) -rounds $(BENCH_ROUNDS)

bench-once:
	$(GO) test $(GOTAGS) -run '^$$' -bench . -benchtime 1x ./...

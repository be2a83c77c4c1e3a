# make bench       libtvmgo.so against Apache TVM's libraries, in one run (bench/README.md)
# make bench-once  every Go benchmark of the repository once, so that none of them rots

BENCH_ROUNDS ?= 21

.PHONY: bench bench-once
bench: deps dist
	$(GO) run $(GOTAGS) ./bench/compare -lib $(LIB) -rounds $(BENCH_ROUNDS)

bench-once:
	$(GO) test $(GOTAGS) -run '^$$' -bench . -benchtime 1x ./...

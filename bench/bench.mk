# make bench       compares libtvmgo.so with Apache TVM's libraries (bench/README.md)
# make bench-check  fails if a row of the table misses its target; ONLY='^load' selects rows by an expression, ROUNDS
#                  sets the number of rounds, FROM=bench/results/FILE.json checks a result without measuring
# make bench-models  compares only compiled models, with ONNX Runtime
# make bench-devices  measures the devices present (docs/benchmarks.md); MACHINE names it,
#                     BENCH_DEVICES_FLAGS=--time=2m bounds the time
# make bench-once  executes every Go benchmark of the repository once, to check that it still works

BENCH_ROUNDS ?= 21

BENCH_DEVICES_FLAGS ?= --time=10m
MACHINE ?= $(shell uname -n)
DEVICES_RESULT = bench/results/$(MACHINE)-$(shell date -u +%F)

.PHONY: bench bench-check bench-models bench-once bench-devices
bench: deps dist
	$(GO) run $(GOTAGS) ./bench/compare -lib $(LIB) -rounds $(BENCH_ROUNDS)

CHECK = $(GO) run $(GOTAGS) ./bench/compare -check -only '$(ONLY)'
ifdef FROM
bench-check:
	$(CHECK) -from $(FROM)
else
bench-check: deps dist
	$(CHECK) -lib $(LIB) -rounds $(or $(ROUNDS),$(BENCH_ROUNDS))
endif

bench-models: deps dist
	$(GO) run $(GOTAGS) ./bench/compare -lib $(LIB) -rounds $(BENCH_ROUNDS) -only ^model-

# The picture has the kernels that README.md shows, and their limits.
PICTURE = ^bandwidth/global$$|^compute/fp32-vec|^kernels/(add|reduction|softmax|layernorm|matmul-f32-1024|conv2d-resnet)

bench-devices: dist
	$(DIST)/bin/tvmgo bench --suite all $(BENCH_DEVICES_FLAGS) -v -o $(DEVICES_RESULT).json -o $(DEVICES_RESULT).md
	$(DIST)/bin/tvmgo bench --show $(DEVICES_RESULT).json --only '$(PICTURE)' -o $(DEVICES_RESULT).svg >/dev/null

# Only packages with benchmarks: linking the tests of the others would take most of the time.
bench-once:
	$(GO) test $(GOTAGS) -vet=off -run '^$$' -bench . -benchtime 1x \
	  $$(git grep --untracked -lE '^func Benchmark' -- '*_test.go' | sed 's|^|./|; s|/[^/]*$$||' | sort -u)

# The Go program FLOOR_SOURCE as a library with the flags of libtvmgo_runtime.so, for the rows of its size.
.PHONY: floor
floor: l := libtvmgo_runtime
floor:
	@$(build_shared) -o $(FLOOR) $(FLOOR_SOURCE)

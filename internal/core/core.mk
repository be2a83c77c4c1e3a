# Tests of the C core, without Go: `make core-test`.
#
# Every *_test.c in internal/core/ctest and in the folder ctest of a package of the core becomes a program, together
# with the C sources of the core and of the CPU device. It is built with AddressSanitizer and UBSan, with
# ThreadSanitizer, and optimised without sanitizers, where memory can be measured. The functions that Go exports are
# weak symbols in the core, so the programs link without them; constructors register the built-ins.
#
#   make core-test                        everything
#   make core-test CORE_TESTS=parallel    programs whose name contains "parallel"
#   make core-test CORE_TEST_KINDS=asan   one kind of build
#
# The last line is "N passed, N failed"; a program that crashes, hangs or leaks is one failed test.

CORE_TEST_DIR := build/.cache/core-test$(if $(BINUTILS),-$(GOARCH))
CORE_TEST_KINDS ?= asan tsan plain
CORE_TESTS ?=
CORE_TEST_TIMEOUT ?= 300

CORE_CFLAGS := -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -g -fno-omit-frame-pointer \
  -fvisibility=hidden -fPIC -pthread -I include -I internal/core
CORE_CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
# The compiler warns of fences, which TSan does not model; where an order rests on one, the code has
# an atomic load for TSan beside it.
CORE_CFLAGS_tsan := -O1 -fsanitize=thread -Wno-tsan
CORE_CFLAGS_plain := -O2
# The sanitizers bring libm along; so do plain programs.
CORE_LDLIBS := -pthread -ldl -Wl,--no-as-needed -lm

CORE_SRC := $(filter-out internal/core/ctest/%,$(wildcard internal/core/*.c internal/core/*/*.c runtime/cpu/*.c))
CORE_TEST_SRC := $(wildcard internal/core/ctest/*_test.c internal/core/*/ctest/*_test.c)
CORE_TEST_NAMES := $(foreach t,$(basename $(notdir $(CORE_TEST_SRC))),\
  $(if $(strip $(CORE_TESTS)),$(if $(strip $(foreach s,$(CORE_TESTS),$(findstring $(s),$(t)))),$(t)),$(t)))

# Rules of one kind of build: $(1) is its name.
define core_test_rules
CORE_OBJ_$(1) := $$(CORE_SRC:%.c=$(CORE_TEST_DIR)/$(1)/%.o)
CORE_TEST_OBJ_$(1) := $$(CORE_TEST_SRC:%.c=$(CORE_TEST_DIR)/$(1)/%.o)
CORE_TEST_BIN_$(1) := $$(CORE_TEST_NAMES:%=$(CORE_TEST_DIR)/$(1)/%)

$(CORE_TEST_DIR)/$(1)/%.o: %.c internal/core/core.mk
	@mkdir -p $$(@D)
	$$(CC) $$(CORE_CFLAGS) $$(CORE_CFLAGS_$(1)) -MMD -MP -c $$< -o $$@

$$(foreach t,$$(CORE_TEST_OBJ_$(1)),$$(eval $(CORE_TEST_DIR)/$(1)/$$(basename $$(notdir $$t)): $$t))
$(CORE_TEST_DIR)/$(1)/%_test: $$(CORE_OBJ_$(1))
	$$(CC) $$(CORE_CFLAGS_$(1)) $$^ $$(CORE_LDLIBS) -o $$@

-include $$(CORE_OBJ_$(1):.o=.d) $$(CORE_TEST_OBJ_$(1):.o=.d)
endef
$(foreach kind,asan tsan plain,$(eval $(call core_test_rules,$(kind))))

.PHONY: core-test core-test-programs
.SECONDARY: $(CORE_TEST_OBJ_asan) $(CORE_TEST_OBJ_tsan) $(CORE_TEST_OBJ_plain)
core-test-programs: $(foreach kind,$(CORE_TEST_KINDS),$(CORE_TEST_BIN_$(kind)))

# ThreadSanitizer of gcc 12 knows the address layouts of up to 28 random bits. Where the kernel uses
# more, programs run without randomisation, if this process may switch that off.
core-test:
	@$(MAKE) -f $(firstword $(MAKEFILE_LIST)) --no-print-directory -s -j$$(nproc) core-test-programs
	@passed=0; failed=0; skipped=0; fixed=; \
	bits=$$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28); \
	if [ "$$bits" -gt 28 ] && setarch -R true 2>/dev/null; then fixed='setarch -R'; fi; \
	export TVMGO_TESTDATA="$${TVMGO_TESTDATA:-$(CURDIR)/testdata}" \
	  ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1:$$ASAN_OPTIONS" \
	  UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS" \
	  TSAN_OPTIONS="allocator_may_return_null=1:second_deadlock_stack=1:$$TSAN_OPTIONS"; \
	  TSAN_OPTIONS="suppressions=internal/core/ctest/tsan.supp:$$TSAN_OPTIONS"; \
	for kind in $(CORE_TEST_KINDS); do for name in $(CORE_TEST_NAMES); do \
	  program=$(CORE_TEST_DIR)/$$kind/$$name; run=; \
	  if [ $$kind = tsan ]; then run=$$fixed; fi; \
	  rm -f $$program.status; \
	  echo "timeout $(CORE_TEST_TIMEOUT) $$run $$program >$$program.log 2>&1; echo \$$? >$$program.status"; \
	done; done | xargs -P $$(nproc) -d '\n' -n 1 sh -c; \
	for kind in $(CORE_TEST_KINDS); do for name in $(CORE_TEST_NAMES); do \
	  log=$(CORE_TEST_DIR)/$$kind/$$name.log; \
	  status=$$(cat $(CORE_TEST_DIR)/$$kind/$$name.status 2>/dev/null || echo unknown); \
	  echo "== $$name ($$kind)"; \
	  cat $$log; \
	  p=$$(grep -c '^ok ' $$log); f=$$(grep -c '^FAIL ' $$log); s=$$(grep -c '^skip ' $$log); \
	  if [ "$$status" != 0 ] && [ $$f -eq 0 ]; then \
	    echo "FAIL $$name ($$kind): exit status $$status"; f=1; \
	  fi; \
	  passed=$$((passed + p)); failed=$$((failed + f)); skipped=$$((skipped + s)); \
	done; done; \
	if [ $$skipped -ne 0 ]; then echo "$$skipped skipped"; fi; \
	if [ $$passed -eq 0 ] && [ $$failed -eq 0 ]; then echo "no test ran"; failed=1; fi; \
	echo "$$passed passed, $$failed failed"; [ $$failed -eq 0 ]

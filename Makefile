# make            builds dist/: libtvmgo and libtvmgo_runtime in lib/, each shared and static, include/, bin/tvmgo
# make dist       the same without the static libraries
# make program    the command alone, dist/bin/tvmgo, as deploy/Containerfile does
# make program-runtime  the command without compilers and targets, dist/bin/tvmgo-runtime
# make demo       builds tensor expressions and kernels, and runs them from C, C++, Go, Python and the command line
# make test       every test (installs what the tests need)
# make test-long  fuzz tests, random tests with new seeds, the race detector on everything: about an hour
# make bench      benchmarks against Apache TVM's own libraries, in the same run
# make gpu-bundle everything that a machine with a GPU needs to test, in one folder
# make install    PREFIX=/usr/local, under DESTDIR if that is given
# make uninstall  with the same PREFIX and DESTDIR
# make generators    the lists of code generators and module kinds, and the calls of devices that are written in Go
# make docs-diagram  the diagram and the table of packages in docs/architecture.md, from the source

# The program reads the same file.
VERSION := $(shell cat internal/version/VERSION)
SOVERSION := 0
DIST ?= dist
PREFIX ?= /usr/local
DESTDIR ?=
GO ?= go
CC ?= cc

# The drivers that are built in. Their Go bindings need headers that machines without development files lack; ours are
# in build/include. Without tags and headers, plain go build works too: the devices then say that they are not built in.
TAGS ?= cuda,opencl
HEADERS_FLAG := -I$(CURDIR)/build/include
ifeq ($(findstring $(HEADERS_FLAG),$(CGO_CFLAGS)),)
export CGO_CFLAGS := $(HEADERS_FLAG) $(if $(CGO_CFLAGS),$(CGO_CFLAGS),-O2 -g)
endif
export TAGS
GOTAGS := $(if $(TAGS),-tags '$(TAGS)')

# libtvmgo_runtime.so has the ABI of libtvmgo.so without code generators, and is made for size: its Go code, which runs
# once for each module or registration, is not inlined. RUNTIME_TAGS=cpuonly leaves out all devices but the CPU.
# Where the C library has them (glibc 2.36), its relocations are packed; RUNTIME_LDFLAGS= is for machines with an older
# one.
RUNTIME_TAGS ?=
ifeq ($(origin RUNTIME_LDFLAGS),undefined)
RUNTIME_LDFLAGS := $(shell sh build/scripts/packed-relocations.sh)
endif
LIBRARIES := libtvmgo libtvmgo_runtime
LIB := $(DIST)/lib/libtvmgo.so.$(VERSION)
COMMA := ,
tags_of_libtvmgo := $(TAGS)
tags_of_libtvmgo_runtime := $(if $(TAGS),$(TAGS)$(COMMA))runtimeonly$(if $(RUNTIME_TAGS),$(COMMA)$(RUNTIME_TAGS))
go_flags_of_libtvmgo_runtime := -gcflags=all=-l
go_ldflags_of_libtvmgo_runtime := -funcalign=16
ldflags_of_libtvmgo_runtime := $(RUNTIME_LDFLAGS)
LIB_LDFLAGS := -Wl,--version-script=$(CURDIR)/capi/exports.map -Wl,-Bsymbolic

ifneq ($(words $(CURDIR) $(DIST)),2)
$(error the folders of the source tree and of DIST must have no spaces in their names: $(CURDIR), $(DIST))
endif

# What an installation has, under PREFIX.
HEADERS := $(addprefix include/,$(shell cd include && find dlpack tvm tvmgo -name '*.h' -o -name '*.hpp'))
PACKAGE := lib/pkgconfig/tvmgo.pc lib/pkgconfig/tvmgo_runtime.pc lib/cmake/tvmgo/tvmgoConfig.cmake \
  lib/cmake/tvmgo/tvmgoConfigVersion.cmake
LINKS := $(foreach l,$(LIBRARIES),lib/$l.so.$(SOVERSION) lib/$l.so)
INSTALLED := $(HEADERS) $(PACKAGE) $(LIBRARIES:%=lib/%.a) $(LIBRARIES:%=lib/%.so.$(VERSION)) bin/tvmgo

.PHONY: all dist program program-runtime static demo test test-long core-test bench gpu-bundle deps clean install
.PHONY: uninstall docs-diagram
.PHONY: generators
all: dist static

# go build with the flags of library $l.
build_shared = $(GO) build $(if $(tags_of_$l),-tags '$(tags_of_$l)') -trimpath $(go_flags_of_$l) -buildmode=c-shared \
	  -ldflags='-s -w $(go_ldflags_of_$l) "-extldflags=$(LIB_LDFLAGS) $(ldflags_of_$l) -Wl,-soname,$l.so.$(SOVERSION)"'

# The commands that build library $l.
define library
$(build_shared) -o $(DIST)/lib/$l.so.$(VERSION) ./capi
	@ln -sf $l.so.$(VERSION) $(DIST)/lib/$l.so.$(SOVERSION)
	@ln -sf $l.so.$(SOVERSION) $(DIST)/lib/$l.so
	
endef

define static_library
GO='$(GO)' TAGS='$(tags_of_$l)' GOFLAGS_OF='$(go_flags_of_$l)' LDFLAGS_OF='$(go_ldflags_of_$l)' \
	  sh build/scripts/static.sh $(DIST)/lib/$l.a

endef

# Go decides what is out of date, so these run every time; a build without changes takes a second.
dist: program
	@mkdir -p $(DIST)/lib $(DIST)/include
	@cmp -s capi/exports.map $(DIST)/.exports.map || rm -f $(LIBRARIES:%=$(DIST)/lib/%.so.$(VERSION)) # Go doesn't ask
	$(foreach l,$(LIBRARIES),$(library))
	@cp capi/exports.map $(DIST)/.exports.map
	@rm -f $(DIST)/lib/*.h
	@rm -rf $(DIST)/include && mkdir -p $(DIST)/include && cp -r include/dlpack include/tvm include/tvmgo $(DIST)/include/
	@for f in $(PACKAGE); do mkdir -p $(DIST)/$${f%/*} && \
	  sed 's/@VERSION@/$(VERSION)/g; s/@SOVERSION@/$(SOVERSION)/g' build/package/$${f##*/}.in >$(DIST)/$$f || exit 1; done

program:
	@mkdir -p $(DIST)/bin
	$(GO) build $(GOTAGS) -trimpath -ldflags='-s -w' -o $(DIST)/bin/tvmgo ./cmd/tvmgo

program-runtime:
	@mkdir -p $(DIST)/bin
	$(GO) build -tags '$(tags_of_libtvmgo_runtime)' -trimpath -ldflags='-s -w' -o $(DIST)/bin/tvmgo-runtime ./cmd/tvmgo

static:
	@mkdir -p $(DIST)/lib
	$(foreach l,$(LIBRARIES),$(static_library))

install: dist static
	@for f in $(INSTALLED); do \
	  case $$f in *.so.*|bin/*) mode=755 ;; *) mode=644 ;; esac; \
	  install -D -m $$mode $(DIST)/$$f "$(DESTDIR)$(PREFIX)/$$f" || exit 1; done
	@for f in $(LINKS); do cp -Pf $(DIST)/$$f "$(DESTDIR)$(PREFIX)/$$f" || exit 1; done
	@echo "installed in $(DESTDIR)$(PREFIX)"

# Leaves folders that others use too.
uninstall:
	@for f in $(INSTALLED) $(LINKS); do rm -f "$(DESTDIR)$(PREFIX)/$$f" || exit 1; done
	@for d in include/tvm/ffi/extra include/tvm/ffi include/tvm/runtime include/tvm include/tvmgo include/dlpack \
	  lib/cmake/tvmgo; do \
	  rmdir "$(DESTDIR)$(PREFIX)/$$d" 2>/dev/null || true; done

clean:
	rm -rf $(DIST) build/.cache

# What tests need beyond Go, a C compiler and make; silent when all is there.
deps:
	@sh build/scripts/deps.sh

test: deps dist
	@sh build/scripts/test.sh

test-long: deps dist
	@sh build/scripts/test-long.sh

demo: dist

gpu-bundle: deps dist
	@sh build/scripts/gpu-bundle.sh build/.cache/gpu-bundle

docs-diagram:
	$(GO) run ./build/gen/packages

generators:
	$(GO) run ./build/gen/generators
	$(GO) run ./build/gen/kinds
	$(GO) run ./build/gen/deviceshim

include internal/core/core.mk
include bench/bench.mk
include examples/demo.mk

# make            builds dist/: libtvmgo and libtvmgo_runtime in lib/, each shared and static, include/, bin/tvmgo
# make dist       the same without the static libraries
# make program    the command alone, dist/bin/tvmgo, as deploy/Containerfile does
# make program-runtime  the command without compilers and targets, dist/bin/tvmgo-runtime
# make demo       builds tensor expressions and kernels, and runs them from C, C++, Go, Python and the command line
# make test       every test (installs what the tests need)
# make test-long  fuzz tests, random tests with new seeds, the race detector on everything: hours
# make test-arm64    tests for arm64 under qemu-user
# make test-release  makes what is shipped, and tests it: with older C libraries, by lintian and SPDX's validator
# make bench      benchmarks against Apache TVM's own libraries, in the same run
# make gpu-bundle everything that a machine with a GPU needs to test, in one folder
# make release    dist/release: a tarball and Debian packages for glibc 2.28 and newer, a bill of materials, checksums
# make tarball    the tarball alone, which can be unpacked anywhere
# make deb        the Debian packages alone
# make install    PREFIX=/usr/local, LIBDIR=lib, under DESTDIR if that is given
# make uninstall  with the same PREFIX, LIBDIR and DESTDIR
# Each takes GOARCH=arm64 (or amd64), which builds for that machine in dist-arm64.
# make generators    the lists of code generators and module kinds, and the calls of devices that are written in Go
# make docs-diagram  the diagram and the table of packages in docs/architecture.md, from the source

# The program reads the same file.
VERSION := $(shell cat internal/version/VERSION)
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
GO ?= go
CC ?= cc

# The drivers that are built in. Their Go bindings need headers that machines without development files lack; ours are
# in build/include. Without tags and headers, plain go build works too: the devices then say that they are not built in.
TAGS ?= cuda,opencl
# They take C's char for signed, which it is not on every machine.
HEADERS_FLAG := -I$(CURDIR)/build/include -fsigned-char
ifeq ($(findstring $(HEADERS_FLAG),$(CGO_CFLAGS)),)
export CGO_CFLAGS := $(HEADERS_FLAG) $(if $(CGO_CFLAGS),$(CGO_CFLAGS),-O2 -g)
endif
export TAGS
GOTAGS := $(if $(TAGS),-tags '$(TAGS)')

# GOARCH=arm64 builds for that machine: with Debian's cross compiler, unless CC names another.
GOHOSTARCH := $(shell $(GO) env GOHOSTARCH)
GOARCH := $(or $(GOARCH),$(GOHOSTARCH))
triplet_of_arm64 := aarch64-linux-gnu
triplet_of_amd64 := x86_64-linux-gnu
TRIPLET := $(triplet_of_$(GOARCH))
ifneq ($(GOARCH),$(GOHOSTARCH))
ifeq ($(TRIPLET),)
$(error GOARCH=$(GOARCH): it can be arm64 or amd64)
endif
ifeq ($(origin CC),default)
CC := $(TRIPLET)-gcc
endif
# The bindings of drivers name folders with libraries of this machine, which GNU's linker would mention.
ifeq ($(findstring portable-cc,$(CC)),)
export CGO_LDFLAGS := -Wl,--no-warn-search-mismatch $(or $(CGO_LDFLAGS),-O2 -g)
endif
BINUTILS := $(TRIPLET)-
DIST ?= dist-$(GOARCH)
export CC GOARCH
export CGO_ENABLED := 1
endif
DIST ?= dist

# libtvmgo_runtime.so has the ABI of libtvmgo.so without code generators, and is made for size: its Go code, which runs
# once for each module or registration, is not inlined. RUNTIME_TAGS=cpuonly leaves out all devices but the CPU.
# Where the C library has them (glibc 2.36), its relocations are packed; RUNTIME_LDFLAGS= is for machines with an older
# one.
RUNTIME_TAGS ?=
ifeq ($(origin RUNTIME_LDFLAGS),undefined)
RUNTIME_LDFLAGS := $(if $(BINUTILS),,$(shell sh build/scripts/packed-relocations.sh))
endif
LIBRARIES := libtvmgo libtvmgo_runtime
LIB := $(DIST)/lib/libtvmgo.so.$(VERSION)
COMMA := ,
tags_of_libtvmgo := $(TAGS)
tags_of_libtvmgo_runtime := $(if $(TAGS),$(TAGS)$(COMMA))runtimeonly$(if $(RUNTIME_TAGS),$(COMMA)$(RUNTIME_TAGS))
soname_of_libtvmgo := -Wl,-soname,libtvmgo.so.$(SOVERSION)
soname_of_libtvmgo_runtime := -Wl,-soname,libtvmgo_runtime.so.$(SOVERSION)
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
.PHONY: uninstall install-files release tarball deb test-release test-arm64 docs-diagram
.PHONY: generators
all: dist static

# go build with the flags of library $l.
build_shared = $(GO) build $(if $(tags_of_$l),-tags '$(tags_of_$l)') -trimpath $(go_flags_of_$l) -buildmode=c-shared \
	  -ldflags='-s -w $(BUILDID) $(go_ldflags_of_$l) "-extldflags=$(LIB_LDFLAGS) $(ldflags_of_$l) $(soname_of_$l)"'

# Prints file $1 of build/package for libraries in folder $2 of the prefix.
package_file = sed 's|@VERSION@|$(VERSION)|g; s|@SOVERSION@|$(SOVERSION)|g; s|@LIBDIR@|$2|g; s|@UP@|$(shell \
  echo $2 | sed 's|[^/][^/]*|..|g')|g' build/package/$1.in

# The commands that build library $l.
define library
$(build_shared) -o $(DIST)/lib/$l.so.$(VERSION) ./capi
	@ln -sf $l.so.$(VERSION) $(DIST)/lib/$l.so.$(SOVERSION)
	@ln -sf $l.so.$(SOVERSION) $(DIST)/lib/$l.so
	
endef

define static_library
GO='$(GO)' BINUTILS='$(BINUTILS)' TAGS='$(tags_of_$l)' GOFLAGS_OF='$(go_flags_of_$l)' \
	  LDFLAGS_OF='$(BUILDID) $(go_ldflags_of_$l)' sh build/scripts/static.sh $(DIST)/lib/$l.a

endef

# Go decides what is out of date, so these run every time. Without changes it still compiles the C of each library
# again, because it does not keep the headers of cgo: about 40 seconds each.
dist: program
	@mkdir -p $(DIST)/lib $(DIST)/include
	@cmp -s capi/exports.map $(DIST)/.exports.map || rm -f $(LIBRARIES:%=$(DIST)/lib/%.so.$(VERSION)) # Go doesn't ask
	$(foreach l,$(LIBRARIES),$(library))
	@cp capi/exports.map $(DIST)/.exports.map
	@rm -f $(DIST)/lib/*.h
	@rm -rf $(DIST)/include && mkdir -p $(DIST)/include && cp -r include/dlpack include/tvm include/tvmgo $(DIST)/include/
	@for f in $(PACKAGE); do mkdir -p $(DIST)/$${f%/*} && \
	  $(call package_file,$${f##*/},lib) >$(DIST)/$$f || exit 1; done

program:
	@mkdir -p $(DIST)/bin
	$(GO) build $(GOTAGS) -trimpath $(PROGRAM_FLAGS) -ldflags='-s -w $(BUILDID)' -o $(DIST)/bin/tvmgo ./cmd/tvmgo

program-runtime:
	@mkdir -p $(DIST)/bin
	$(GO) build -tags '$(tags_of_libtvmgo_runtime)' -trimpath -ldflags='-s -w' -o $(DIST)/bin/tvmgo-runtime ./cmd/tvmgo

static:
	@mkdir -p $(DIST)/lib
	$(foreach l,$(LIBRARIES),$(static_library))

install: dist static install-files
	@echo "installed in $(DESTDIR)$(PREFIX)"

# The path of an installed file $$f.
installed_path = "$(DESTDIR)$(PREFIX)/$$(echo $$f | sed 's|^lib/|$(LIBDIR)/|')"

install-files:
	@for f in $(INSTALLED); do \
	  case $$f in *.so.*|bin/*) mode=755 ;; *) mode=644 ;; esac; \
	  install -D -m $$mode $(DIST)/$$f $(installed_path) || exit 1; done
	@for f in $(PACKAGE); do $(call package_file,$${f##*/},$(LIBDIR)) >$(installed_path) || exit 1; done
	@for f in $(LINKS); do cp -Pf $(DIST)/$$f $(installed_path) || exit 1; done

# Leaves folders that others use too.
uninstall:
	@for f in $(INSTALLED) $(LINKS); do rm -f $(installed_path) || exit 1; done
	@for d in include/tvm/ffi/extra include/tvm/ffi include/tvm/runtime include/tvm include/tvmgo include/dlpack \
	  $(LIBDIR)/cmake/tvmgo; do \
	  rmdir "$(DESTDIR)$(PREFIX)/$$d" 2>/dev/null || true; done

# What is shipped is built by a compiler with the headers of an old glibc, without packed relocations, and without the
# name of this folder in it. Settings of the user that change the code of Go programs do not matter, nor does git's view
# of the folder. The tests of build/package look at the result.
RELEASE ?= $(DIST)/release
PORTABLE := build/.cache/portable-$(GOARCH)
release_of_release := all
release_of_tarball := tarball
release_of_deb := deb
release tarball deb:
	@sh build/scripts/deps.sh release
	@GOFLAGS=-buildvcs=false GOAMD64=v1 GOARM64=v8.0 $(MAKE) --no-print-directory all \
	  DIST='$(PORTABLE)' CC='$(CURDIR)/build/scripts/portable-cc.sh' RUNTIME_LDFLAGS= \
	  BUILDID=-buildid= PROGRAM_FLAGS=-buildmode=pie
	@DIST='$(PORTABLE)' OUT='$(RELEASE)' GOARCH='$(GOARCH)' TRIPLET='$(TRIPLET)' VERSION='$(VERSION)' \
	  SOVERSION='$(SOVERSION)' GO='$(GO)' MAKE='$(MAKE)' sh build/scripts/release.sh $(release_of_$@)

test-arm64: deps
	@sh build/scripts/test-arm64.sh

test-release: release
	@sh build/scripts/deps.sh test-release
	env -u GOARCH -u CC TVMGO_RELEASE='$(abspath $(RELEASE))' TVMGO_RELEASE_GOARCH='$(GOARCH)' \
	  $(GO) test -count=1 -timeout 60m ./build/package

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

# make            builds dist/: lib/libtvmgo.so, include/, bin/tvmgo
# make demo       compiles a kernel and runs it from C, C++, Go and the command line
# make test       every test (installs what the tests need)
# make bench      benchmarks against Apache TVM's own libraries, in the same run
# make gpu-bundle everything that a machine with a GPU needs to test, in one folder
# make install    PREFIX=/usr/local

VERSION := 0.1.0
SOVERSION := 0
DIST ?= dist
PREFIX ?= /usr/local
GO ?= go
CC ?= cc

LIB := $(DIST)/lib/libtvmgo.so.$(VERSION)
LIB_LDFLAGS := -Wl,--version-script=$(CURDIR)/capi/exports.map -Wl,-soname,libtvmgo.so.$(SOVERSION) -Wl,-Bsymbolic

ifneq ($(words $(CURDIR) $(DIST)),2)
$(error the folders of the source tree and of DIST must have no spaces in their names: $(CURDIR), $(DIST))
endif

.PHONY: all dist demo test go-test core-test abi-test bench gpu-bundle deps clean install fuzz
all: dist

# Go decides what is out of date, so these run every time; a build without changes takes a second.
dist:
	@mkdir -p $(DIST)/lib $(DIST)/bin $(DIST)/include
	$(GO) build -trimpath -buildmode=c-shared -ldflags='-s -w "-extldflags=$(LIB_LDFLAGS)"' -o $(LIB) ./capi
	@rm -f $(DIST)/lib/*.h
	@ln -sf libtvmgo.so.$(VERSION) $(DIST)/lib/libtvmgo.so.$(SOVERSION)
	@ln -sf libtvmgo.so.$(SOVERSION) $(DIST)/lib/libtvmgo.so
	@rm -rf $(DIST)/include && mkdir -p $(DIST)/include && cp -r include/dlpack include/tvm include/tvmgo $(DIST)/include/
	$(GO) build -trimpath -ldflags='-s -w' -o $(DIST)/bin/tvmgo ./cmd/tvmgo

install: dist
	install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include
	cp -P $(DIST)/lib/libtvmgo.so* $(DESTDIR)$(PREFIX)/lib/
	cp -r $(DIST)/include/. $(DESTDIR)$(PREFIX)/include/
	install $(DIST)/bin/tvmgo $(DESTDIR)$(PREFIX)/bin/

clean:
	rm -rf $(DIST) build/.cache

# What tests need beyond Go, a C compiler and make; silent when all is there.
deps:
	@sh build/deps.sh

test: deps dist
	@sh build/test.sh

demo: dist

gpu-bundle: dist
	@sh build/gpu-bundle.sh build/.cache/gpu-bundle

include internal/core/core.mk
include bench/bench.mk
include examples/demo.mk

// Package needsheaders fails to compile if the bindings of drivers would be compiled without the headers that this
// module contains, with a message that says what to do. The bindings' own errors ("unknown field buffer" in go-gl/cl,
// a missing cuda.h) do not. It has no other content and no dependency, so its error is printed together with theirs.
package needsheaders

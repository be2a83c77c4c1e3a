// Package serving measures tvmgo serve as its clients see it: from another process, over connections of loopback that
// stay open. Beside it, it has the floors that the figures are compared with: a server of package net/http that answers
// the same bytes without a model, and a copy of bytes over a plain connection.
//
// The clients are few lines that write a request which is ready and read the length of its answer, so that they take
// little of the time that they share with the server.
package serving

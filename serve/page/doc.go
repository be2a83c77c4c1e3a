// Package page is the page of a server of models, which its users see at / in a browser: the models with their inputs
// and outputs, queues and latencies, and a form that sends a request. The files are part of the program, and the page
// asks nothing but its own server.
//
// The page itself has no data and needs no token. Every two seconds while it is visible, it gets v2/status, and the
// form posts to v2/models/NAME/infer. Its addresses are relative, so that a server may be mounted below a path. Texts
// of the server are never read as HTML: all of them become text nodes, and the page's policy forbids anything else.
package page

// Package names lists the global functions of package reflect of the C core, in names.h, for reflect and for the
// package that replaces it.
package names

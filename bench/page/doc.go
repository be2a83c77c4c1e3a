// Package page writes a report of package bench for readers: as text for a terminal, as Markdown, as one HTML page
// that needs nothing else, and as a picture in SVG or PNG.
//
// A report may be incomplete: without rows, interrupted, with rows that were not measured or failed. Every function
// writes what there is, with the reasons for what is missing. Numbers that are not finite are written as a dash.
// Names, titles, errors and facts come from drivers and from users' files: they are escaped, and control characters
// are replaced. The same report always gives the same bytes. Reports are only read.
//
// Figures have the units of the report (GFLOPS, GB/s, µs) and four significant digits. A ratio is a time relative to
// that of the first measured row of the case, so less is faster.
package page

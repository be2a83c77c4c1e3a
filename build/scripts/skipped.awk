# Prints the skipped tests of the output of go test -v, each with its reason, which the test printed while it ran.
/^=== / { test = $3 }
/^ *[A-Za-z0-9_]+\.go:[0-9]+: / { reason[test] = $0 }
/^ *--- SKIP/ {
  print
  if ($3 in reason) print reason[$3]
}
/^(ok|FAIL)[ \t]/ { split("", reason) } # other packages may have tests of the same names

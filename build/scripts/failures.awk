# Reads the output of `go test -v` or `go test`. Prints the last lines of the output of each failed test, and then one
# line for each failed test, so that the end of the log shows all causes.
function remember(line) {
  n = ++lines[current]
  text[current, n] = line
}
/^# / { building = 1 } # messages of the compiler, which begin with the name of a package
/^(=== |--- |ok |FAIL|PASS|\?)/ { building = 0 }
building { print; next }
/^=== (RUN|CONT|NAME|PAUSE)/ { current = $3; next }
/^ *--- FAIL: / {
  name = $3
  failed[++fails] = name
  current = name
  next
}
/^ *--- (PASS|SKIP): / { delete lines[$3]; current = $3; next }
/^FAIL\t/ || /^FAIL [^ ]/ {
  package = $2
  if (fails == 0) failed[++fails] = "" # no test failed: the package did not build, or the process crashed
  flush_package()
  next
}
/^ok / { forget(); next }
{ remember($0) }

function forget() {
  fails = 0
  current = ""
  split("", lines)
  split("", text)
}

function flush_package(  i, k, n, name, from, said) {
  for (i = 1; i <= fails; i++) {
    name = failed[i]
    printf "\n-- %s %s\n", package, name
    if (name == "" && lines[""] == 0) name = current
    n = lines[name]
    from = n > 40 ? n - 39 : 1
    said = ""
    for (k = from; k <= n; k++) {
      print text[name, k]
      if (said == "" && text[name, k] ~ /\.go:[0-9]+: |^panic: |^fatal error: /) said = substr(text[name, k], 1, 200)
    }
    summary = summary "failed: " package " " name " " said "\n"
  }
  forget()
}
END { printf "\n%s", summary }

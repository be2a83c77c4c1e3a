// Package atomicfile writes files so that a reader sees the old file or the complete new one, never a part of it.
//
// [Create] makes a file that does not have its name yet, you write to it, and [File.Commit] gives it the name, in place
// of the file that had it. [File.Discard] gives up instead. [Write] does all of this for data in memory. A [Set] is
// several files of one folder that appear together.
//
// Where the file system can do it (O_TMPFILE), a file has no name at all before Commit, so that not even a process that
// is killed leaves one behind. Otherwise, and for the files of a Set, there is a hidden name beside the target. Package
// unfinished knows the hidden names of this process: a command that is interrupted removes them.
//
// Nothing here calls fsync: a file can be incomplete after a power failure.
//
// An error of this package is the bare error of the system call, as [Cause] returns it: the caller knows the path.
package atomicfile

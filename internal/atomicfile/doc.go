// Package atomicfile writes files so that a reader sees the old file or the complete new one, never a part of it.
//
// [Create] makes a file without its final name, you write to it, and [File.Commit] gives it the name, replacing the old
// file. [File.Discard] removes it instead. [Write] does all of this for data in memory. A [Set] is several files of one
// folder that appear together.
//
// If the system and the file system support it (O_TMPFILE of Linux), a file has no name before Commit, so that not even
// a killed process leaves one behind. Otherwise, and for the files of a Set, it has a hidden name beside the target.
// Package unfinished keeps a list of the hidden names of this process, which an interrupted command removes.
//
// Nothing here calls fsync: after a power failure a file can be incomplete.
//
// An error of this package is the bare error of the system call, as [Cause] returns it: the caller knows the path.
package atomicfile

// Package facts finds out why devices differ: what drivers, compilers, the operating system and sensors report about a
// device, and about a kernel on it.
//
//	dev, err := facts.Find("cuda:0")
//	d, err := facts.Open(dev)
//	defer facts.Close(d)
//	fmt.Println(d.Title, facts.Text(facts.Memory, d.Facts[facts.Memory]))
//
// A fact has a name, whose meaning, unit and source are in [Table], and in docs/benchmarks.md. A fact that nothing
// reports is absent: there are no defaults, and no guesses.
//
// Nothing here changes a setting of a device or of the machine.
package facts

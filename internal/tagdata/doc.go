// Package tagdata contains the built-in target tags: names of machines and GPUs, each with the config of its target.
// The data are the JSON files of this package, one for each vendor or family of boards:
//
//	{
//	  "groups": [{
//	    "prefix": "nvidia/",                         put before every name of the group
//	    "optional": ["geforce-", "tesla-"],          a name that begins so has an alias without it
//	    "config": {"kind": "cuda"},                  what the rows share
//	    "rows": [
//	      {"config": {"arch": "sm_61"},              put over the group's config, key by key
//	       "names": ["tesla-p40 tesla-p4", "p620"]}  separated by spaces
//	    ]
//	  }],
//	  "aliases": {"nvidia/tx2": "nvidia/jetson-tx2"} alias and tag, which may be of another file
//	}
//
// Tags that exist in Apache TVM, too, have exactly the same configs, even where these are incomplete:
// max_shared_memory_per_block of an NVIDIA GPU is the amount that a kernel gets without requesting more. For other GPUs
// a number is given only if it comes from the vendor's documents or driver; all else has the kind's defaults.
//
// The data are read when they are first used.
package tagdata

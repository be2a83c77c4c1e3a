// Package tagdata holds the built-in target tags: names of machines and cards, each with the config that a target is
// made of. The data are the JSON files beside this one, one for each vendor or family of boards:
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
// Tags that Apache TVM has too have exactly its configs, also where it is sparing: max_shared_memory_per_block of an
// NVIDIA card is what a kernel gets without asking for more. Of other cards a number is given only where the vendor's
// documents or its driver give it; the rest comes from the kind's defaults.
//
// Nothing is read before it is asked for.
package tagdata

package main

import "syscall"

// limitSelf keeps a document from taking the computer's memory or processor. GOMEMLIMIT, set by the engine, makes the
// collector work before the hard limit is met.
func limitSelf() {
	const addresses = 2 << 30 // bytes of address space; Go reserves more than it uses
	for resource, limit := range map[int]uint64{syscall.RLIMIT_AS: addresses, syscall.RLIMIT_CPU: 60, syscall.RLIMIT_CORE: 0} {
		// A limit that is lower already stays: the error changes nothing.
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}

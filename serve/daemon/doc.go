// Package daemon runs a [serve.Server] as a process: it listens, with TLS if it is wanted, bounds connections, sends
// spans to a collector, and stops without losing a request. It is the command `tvmgo serve` without its flags.
package daemon

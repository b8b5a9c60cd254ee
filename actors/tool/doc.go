// Package tool owns the tool registry and everything about a tool call that is decided without running it: the checking of
// arguments, effective risk, which tools a turn is offered, how a long result is cut, and how outside content is marked.
// All of it is pure; a Registry is an immutable value whose owner swaps it whole.
package tool

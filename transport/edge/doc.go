// Package edge owns the gateway: one route table with rights, the checks every request passes (Host, Origin, token,
// rights, size, strict decoding), the live channel /ws, the NDJSON reply stream, and the admission of commands. It holds
// no state of a chat: a GET reads what is stored, everything else is one command to one owner.
//
// Invariants: nothing is asked of an owner before all checks passed; a command that was not admitted was not sent; a
// socket's frames carry the number of the newest durable event it was given, and one stuck client delays nobody.
package edge

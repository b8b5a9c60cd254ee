// Package agent owns the turn: one reply, from the message that starts it to its one end, as a pure state machine. It knows
// nothing of mailboxes, disks, sockets or clocks: a step takes an input and returns what to keep, what to show and what to
// start, in the order in which they happen. Chats use it now; helpers, task runs, voice and bots use it as it is.
//
// A turn is in one of seven states:
//
//	Preparing  its plan (model, history, tools) is being made
//	Calling    a model is answering
//	Judging    code decides whether the calls of the answer may run
//	Asking     a person was asked about one call
//	Waiting    a call that was let through waits, so that a person can still undo it
//	Acting     calls are running
//	Ended      nothing comes any more
//
// Invariants: every call the model made gets exactly one result before the next model call; a turn ends once; an input that
// belongs to a run the turn no longer waits for changes nothing.
package agent

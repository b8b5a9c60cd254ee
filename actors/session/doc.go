// Package session owns chats: one actor each, with its journal, its rows, its queue of messages and its one running turn.
//
// core.go and its neighbours are pure: a chat's state and an input give a change (events, rows, notes) and effects.
// actor.go is the thin shell that appends the change and, only then, performs the effects. What takes time (a plan, a model
// call, a judgement, a tool) runs beside the mailbox and comes back as an input.
//
// Invariants: an acknowledged message is on disk; arrival order is transcript order; nothing removes a message of the user
// but deleting the chat; a turn ends with exactly one done.
package session

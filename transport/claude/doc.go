// Package claude owns the way to Claude through the person's own Claude Code: one process of their claude program for each reply,
// under their own login, with none of its own tools, in a scratch folder that goes with it (contract section 3, "Claude through
// your own Claude Code"). Sentient's tools are shown to it by a bridge that refuses every call, so that each wish for one comes
// back as an ordinary tool call.
//
// Invariant: when Stream has returned, no process of its tree is alive, its folder is removed and its place in the pool is free.
package claude

// Package workspace owns the files that a person and the assistant write about themselves: SOUL.md (who the assistant is), USER.md (who
// the person is), MEMORY.md (long-term notes) and the daily notes, with the personas to choose from and the part of all this that a
// prompt carries.
//
// What a text becomes is decided by pure functions in core.go; Workspace only reads and writes whole files. It never follows a link out
// of its folder. One owner at a time may write.
package workspace

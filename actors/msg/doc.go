// Package msg holds what crosses between rooms: commands and their replies, wire events, error codes, and the data types of
// interfaces (models, tools). No logic lives here beyond validation that a type owes itself, and what makes the text of a field fit
// to be shown.
package msg

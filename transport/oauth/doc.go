// Package oauth owns the engine's end of browser sign-ins: PKCE (RFC 7636, S256), the one loopback listener that every
// provider redirects to, and the sign-ins that wait there. What a provider wants beyond that is the caller's.
//
// A sign-in is known by its state alone: random, used once, and good for a bounded time (RFC 6749, 10.12; RFC 8252, 7.3). The
// listener exists only while a sign-in waits. Codes, tokens and states are never logged.
package oauth

// Package worker owns the engine's side of sentient-worker: the child process that parses documents and web pages, so that
// a file made to break a parser breaks nothing else. One child serves one request and ends: nothing is kept warm, nothing
// can leak from one document into the next.
package worker

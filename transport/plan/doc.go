// Package plan owns the AI plans a person connects by signing in with the browser: OpenRouter, whose sign-in gives a key, and
// ChatGPT, whose sign-in gives tokens that are renewed and revoked here. What is signed in lives in the secret store and nowhere
// else; tokens and keys are never logged and never in an error.
package plan

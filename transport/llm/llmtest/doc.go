// Package llmtest owns a scripted model server: it speaks the wire protocols of OpenAI (chat completions), Anthropic (messages)
// and Ollama (chat) to whoever connects, says what a script tells it to, and remembers what it was asked. It misbehaves on
// request: errors, stalls, cut connections, nonsense. It is for tests and load runs; nothing of the engine imports it.
package llmtest

// Package llm owns the conversation with model providers: streaming clients for the OpenAI, Anthropic and Ollama protocols,
// the table of providers, the bundled list of prices and context lengths, what runs on this computer, and the built-in guide.
//
// A call is one request and one stream. Nothing is retried, queued or chosen here: callers decide, this room speaks. Every
// failure is a *msg.ModelError whose text is the plain sentence a person reads; what the provider really said goes to
// the log only. Keys never appear in either.
package llm

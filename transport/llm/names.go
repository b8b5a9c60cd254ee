package llm

// ProviderName is a provider's plain name for sentences: "Anthropic", "Ollama"; an unknown one is its own name.
func ProviderName(id string) string {
	if p := findProvider(id); p != nil {
		return runtimeName(p)
	}
	return cutText(id, 40)
}

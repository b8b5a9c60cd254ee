package msg

// Hardware is what this computer has for running models, and what it is best at (GET /api/system/hardware). Amounts are GiB;
// nil is what could not be read.
type Hardware struct {
	OS             string         `json:"os"` // windows, macos, linux
	RAMGB          *float64       `json:"ram_gb"`
	UnifiedMemory  bool           `json:"unified_memory"`
	UsableVRAMGB   *float64       `json:"usable_vram_gb"` // of the largest usable card
	OllamaVRAMGB   *float64       `json:"ollama_vram_gb"` // what the models loaded in Ollama use right now
	GPUs           []GPU          `json:"gpus"`
	Summary        string         `json:"summary"` // for people; "unknown" when nothing could be read
	Recommendation Recommendation `json:"recommendation"`
}

// GPU is one graphics card. A card that is not usable cannot hold a model worth having.
type GPU struct {
	Name   string   `json:"name"`
	Vendor string   `json:"vendor"` // nvidia, amd, intel, apple, other
	VRAMGB *float64 `json:"vram_gb"`
	Usable bool     `json:"usable"`
}

// Recommendation is the local model that fits this computer. With CloudFirst a cloud model is the recommendation, and Model only
// a fallback for plain chat that nothing picks by itself.
type Recommendation struct {
	Tier                  string         `json:"tier"`
	Model                 string         `json:"model"` // provider/model
	Name                  string         `json:"name"`
	ContextLength         int            `json:"context_length"` // tokens
	RunsOn                string         `json:"runs_on"`        // graphics, processor, unknown
	CloudFirst            bool           `json:"cloud_first"`
	Summary               string         `json:"summary"`
	Note                  string         `json:"note"`
	MultilingualEmbedding *SuggestedSize `json:"multilingual_embedding"`
}

// SuggestedSize is a model with the size of its download.
type SuggestedSize struct {
	Model string `json:"model"`
	Name  string `json:"name"`
	Size  string `json:"size"`
	Note  string `json:"note"`
}

// LoadedModel is a model that a local runtime holds in memory now. Sizes are bytes.
type LoadedModel struct {
	Name          string
	Size          int64
	SizeVRAM      int64 // the part on the graphics card
	ContextLength int   // tokens, 0 when the runtime does not say
}

// ModelInfo is what a local runtime tells of a downloaded model.
type ModelInfo struct {
	Maximum int // tokens it reads at once, 0 when not known
	Thinks  bool
}

// PullProgress is one line of a download. Completed and Total are bytes of the part that is being fetched.
type PullProgress struct {
	Status    string `json:"status"`
	Completed *int64 `json:"completed,omitempty"`
	Total     *int64 `json:"total,omitempty"`
}

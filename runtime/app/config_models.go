package app

// Models is which models are used and what they may cost.
type Models struct {
	Roles                   Roles               `json:"roles" doc:"The model of each role."`
	Presets                 map[string]Preset   `json:"presets" default:"{}" keys:"preset" doc:"User-saved model setups, switchable in one step."`
	ActivePreset            *string             `json:"active_preset" doc:"Preset chosen last."`
	Fallbacks               map[string][]string `json:"fallbacks" default:"{}" format:"model" keys:"role" doc:"Ordered fallback models per role."`
	Reasoning               map[string]string   `json:"reasoning" default:"{\"primary\": \"medium\", \"fast\": \"none\", \"planner\": \"none\", \"executor\": \"none\", \"voice\": \"none\"}" enum:"none,low,medium,high" keys:"role" doc:"Reasoning effort per role; none disables thinking."`
	Temperature             map[string]float64  `json:"temperature" default:"{}" range:"0..2" keys:"role" doc:"Optional sampling temperature per role."`
	ContextLength           int                 `json:"context_length" default:"8192" range:"2048..1048576" doc:"Ollama num_ctx for local models; cloud models ignore it."`
	ContextLengthPerRole    map[string]int      `json:"context_length_per_role" default:"{}" range:"2048..1048576" keys:"role" doc:"Per-role override of context_length, Ollama only."`
	Providers               map[string]Provider `json:"providers" default:"{}" keys:"name" doc:"Connection settings by provider prefix."`
	ExperimentalClaudeCode  bool                `json:"experimental_claude_code" default:"false" doc:"Lets chats use the owner's own claude program."`
	ClaudeCodeEverywhere    bool                `json:"claude_code_everywhere" default:"false" doc:"Claude Code may serve every role except embedding; counts only while models.experimental_claude_code is on."`
	ClaudeCodeMaxConcurrent int                 `json:"claude_code_max_concurrent" default:"2" range:"1..8" doc:"Claude Code processes allowed at once."`
	ChatGPTClientID         string              `json:"chatgpt_client_id" default:"dynamic_agent_client" doc:"OAuth client id for the ChatGPT plan sign-in; empty turns the sign-in off."`
	LocalOnly               bool                `json:"local_only" default:"false" doc:"Refuse every model not on this computer."`
	MonthlyBudgetUSD        float64             `json:"monthly_budget_usd" default:"0" range:"0.." doc:"Monthly spend limit for paid cloud models in US dollars; 0 means none."`
	BudgetAtLimit           string              `json:"budget_at_limit" default:"ask" enum:"ask,stop" doc:"Whether the budget stop can be lifted for the month."`
	MaxToolRounds           int                 `json:"max_tool_rounds" default:"12" range:"1..100" doc:"Tool-call rounds per chat turn."`
	RequestTimeoutS         int                 `json:"request_timeout_s" default:"180" range:"10.." doc:"Timeout of one model request."`
	LocalQueue              bool                `json:"local_queue" default:"true" doc:"One job at a time on a local model."`
	BackgroundQuietS        int                 `json:"background_quiet_s" default:"30" range:"0..3600" doc:"Chat silence needed before background local-model work."`
	BackgroundOnBattery     bool                `json:"background_on_battery" default:"false" doc:"Lift battery, idle and burst limits for upkeep."`
	BatteryMinPercent       int                 `json:"battery_min_percent" default:"40" range:"0..100" doc:"Upkeep needs battery above this level."`
	BatteryIdleS            int                 `json:"battery_idle_s" default:"300" range:"0..86400" doc:"Upkeep on battery needs this much chat silence."`
	BatteryUpkeepEveryS     int                 `json:"battery_upkeep_every_s" default:"1800" range:"0..86400" doc:"Minimum gap between upkeep bursts on battery."`
	BatteryCriticalPercent  int                 `json:"battery_critical_percent" default:"15" range:"0..100" doc:"At or below this, upkeep waits even if allowed."`
	BatteryMaxWaitS         int                 `json:"battery_max_wait_s" default:"7200" range:"0..86400" doc:"Longest a call waits because of battery."`
}

// Roles is the model of each role; nil means the primary one.
type Roles struct {
	Primary   string  `json:"primary" default:"ollama_chat/qwen3:8b" format:"model" doc:"Chat and tool-calling model."`
	Fast      string  `json:"fast" default:"ollama_chat/qwen3:8b" format:"model" doc:"Cheap model for background jobs."`
	Planner   *string `json:"planner" format:"model" doc:"Planning model; null uses primary."`
	Executor  *string `json:"executor" format:"model" doc:"Task-run model; null uses primary."`
	Embedding string  `json:"embedding" default:"ollama/nomic-embed-text" format:"model" doc:"Vector model for memory and search."`
	Vision    *string `json:"vision" format:"model" doc:"Model for image turns; null uses primary."`
	Voice     *string `json:"voice" format:"model" doc:"Model for spoken turns; null uses primary."`
}

// Preset is a saved model setup; nil fields keep what is set.
type Preset struct {
	Roles                map[string]*string  `json:"roles" default:"{}" format:"model" keys:"role" doc:"Model per role; missing role unchanged, null means primary."`
	Fallbacks            map[string][]string `json:"fallbacks" format:"model" keys:"role" nullable:"true" doc:"When set, replaces models.fallbacks."`
	Reasoning            map[string]string   `json:"reasoning" enum:"none,low,medium,high" keys:"role" nullable:"true" doc:"When set, replaces models.reasoning."`
	ContextLength        *int                `json:"context_length" range:"2048..1048576" doc:"When set, replaces models.context_length."`
	ContextLengthPerRole map[string]*int     `json:"context_length_per_role" range:"2048..1048576" keys:"role" nullable:"true" doc:"When set, replaces models.context_length_per_role."`
}

// Provider is the connection of one provider, never its key.
type Provider struct {
	APIBase   *string `json:"api_base" format:"url" doc:"Base URL override."`
	APIKeyEnv *string `json:"api_key_env" format:"env" doc:"Name of the environment variable that holds the key when the keychain has none."`
}

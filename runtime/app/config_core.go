package app

// Assistant is the assistant's name and the person's whereabouts.
type Assistant struct {
	Name               string `json:"name" default:"Sentient" format:"required" doc:"Display name the assistant uses for itself."`
	UserName           string `json:"user_name" doc:"Name used to address the owner."`
	Timezone           string `json:"timezone" default:"auto" format:"timezone" doc:"IANA time zone for all local times; auto means the zone of this computer."`
	Location           string `json:"location" doc:"City and country used as local context."`
	Language           string `json:"language" default:"en" format:"language" doc:"Preferred language of replies, as a BCP-47 code such as en or pt-BR."`
	OnboardingComplete bool   `json:"onboarding_complete" default:"false" doc:"True once first-run setup is done."`
}

// Gateway is where the engine listens.
type Gateway struct {
	Host string `json:"host" default:"127.0.0.1" format:"required" restart:"true" doc:"Address the engine listens on."`
	Port int    `json:"port" default:"7777" range:"0..65535" restart:"true" doc:"Listening port; 0 picks a free one."`
}

// Chat is how chats work.
type Chat struct {
	HistoryWindow               int     `json:"history_window" default:"30" range:"2.." doc:"Recent messages sent to the model."`
	CompressAfterMessages       int     `json:"compress_after_messages" default:"60" range:"10.." doc:"Message count after which older turns are summarised."`
	ShowThinking                bool    `json:"show_thinking" default:"true" doc:"Show model reasoning collapsed."`
	AutoTitle                   bool    `json:"auto_title" default:"true" doc:"Name new chats automatically."`
	ToolSelection               string  `json:"tool_selection" default:"auto" enum:"auto,all" doc:"Offer relevant tools only, or every tool."`
	MaxToolsLocal               int     `json:"max_tools_local" default:"12" range:"3..200" doc:"Tool budget per turn on local models."`
	MaxToolsCloud               int     `json:"max_tools_cloud" default:"64" range:"3..500" doc:"Tool budget per turn on cloud models."`
	ToolResultMaxChars          int     `json:"tool_result_max_chars" default:"16000" range:"1000..1000000" doc:"Character cap of one tool result."`
	ToolResultContextShare      float64 `json:"tool_result_context_share" default:"0.25" range:"0.05..1" doc:"Share of model context one result may fill."`
	ParallelReadTools           bool    `json:"parallel_read_tools" default:"true" doc:"Run consecutive look-ups concurrently."`
	MarkOutsideContent          bool    `json:"mark_outside_content" default:"true" doc:"Wrap outside text in numbered data-only markers."`
	QuickCommands               bool    `json:"quick_commands" default:"true" doc:"Answer timers, reminders, home commands without a model."`
	AlarmSnoozeMinutes          int     `json:"alarm_snooze_minutes" default:"9" range:"1..60" doc:"Default snooze length."`
	IncognitoUsesMemory         bool    `json:"incognito_uses_memory" default:"true" doc:"Incognito chats may read memory."`
	IncognitoDeleteAfterMinutes int     `json:"incognito_delete_after_minutes" default:"30" range:"1..10080" doc:"Idle minutes before an incognito chat is deleted."`
}

// Subagents is the limits of helper agents.
type Subagents struct {
	Enabled        bool    `json:"enabled" default:"true" doc:"Allow helper agents in chats."`
	MaxConcurrent  int     `json:"max_concurrent" default:"3" range:"1..16" doc:"Helpers running at once."`
	MaxRounds      int     `json:"max_rounds" default:"24" range:"1..200" doc:"Tool rounds per helper."`
	Role           string  `json:"role" default:"executor" enum:"executor,primary,fast" doc:"Model role helpers use."`
	TimeoutMinutes int     `json:"timeout_minutes" default:"20" range:"1.." doc:"Helper stopped after this long."`
	MaxTokens      int     `json:"max_tokens" default:"1000000" range:"0.." doc:"Cloud token cap per helper; 0 means none."`
	MaxCostUSD     float64 `json:"max_cost_usd" default:"2.0" range:"0.." doc:"Cloud cost cap per helper, when price is known; 0 means none."`
}

// UI is how the window looks and starts.
type UI struct {
	Theme          string `json:"theme" default:"dark" enum:"system,dark,light" doc:"Window theme."`
	Accent         string `json:"accent" default:"sentient" enum:"sentient,violet,blue,emerald,rose" doc:"Accent colour."`
	LaunchAtLogin  bool   `json:"launch_at_login" default:"false" doc:"Start at log-in."`
	MinimizeToTray bool   `json:"minimize_to_tray" default:"true" doc:"Closing the window keeps the app running."`
}

// Skills is where skills come from.
type Skills struct {
	ExtraDirs     []string `json:"extra_dirs" default:"[]" doc:"Additional skill folders."`
	WriteApproval bool     `json:"write_approval" default:"true" doc:"Self-written skills wait for review."`
}

// Evolution is how skills and profiles improve.
type Evolution struct {
	ReviewEnabled           bool `json:"review_enabled" default:"true" doc:"Look for reusable procedures after work."`
	ReviewIdleMinutes       int  `json:"review_idle_minutes" default:"10" range:"1.." doc:"Chat idle time before review."`
	MinToolCallsForReview   int  `json:"min_tool_calls_for_review" default:"3" range:"1.." doc:"Tool calls needed for a review."`
	CuratorEnabled          bool `json:"curator_enabled" default:"true" doc:"Retire unused skills, merge duplicates."`
	CuratorIntervalHours    int  `json:"curator_interval_hours" default:"168" range:"1.." doc:"Curator interval."`
	StaleAfterDays          int  `json:"stale_after_days" default:"14" range:"1.." doc:"Unused days until stale."`
	ArchiveAfterDays        int  `json:"archive_after_days" default:"30" range:"1.." doc:"Unused days until archived."`
	CuratorMergeSuggestions bool `json:"curator_merge_suggestions" default:"true" doc:"Curator may propose merges."`
	UserProfileUpdates      bool `json:"user_profile_updates" default:"true" doc:"Keep USER.md and MEMORY.md current."`
	ProfileUpdateHours      int  `json:"profile_update_hours" default:"24" range:"1.." doc:"Profile refresh interval."`
	SkillRepair             bool `json:"skill_repair" default:"true" doc:"Draft fixes for failing skills."`
	RepairCooldownHours     int  `json:"repair_cooldown_hours" default:"6" range:"0..168" doc:"Gap between repairs of one skill."`
}

// OpenAIAPI is the OpenAI-compatible endpoint.
type OpenAIAPI struct {
	Enabled     bool `json:"enabled" default:"false" doc:"Serve the OpenAI-compatible endpoint."`
	AllowMemory bool `json:"allow_memory" default:"false" doc:"API turns may read memory."`
}

// Backups is when backups are made and how many stay.
type Backups struct {
	Folder        string `json:"folder" format:"abspath" doc:"Absolute path of the backup folder; empty uses Documents/Sentient Backups."`
	Schedule      string `json:"schedule" default:"off" enum:"off,daily,weekly" doc:"Automatic backup interval."`
	Keep          int    `json:"keep" default:"5" range:"1..1000" doc:"Scheduled backups kept."`
	SnapshotsKeep int    `json:"snapshots_keep" default:"5" range:"1..1000" doc:"Snapshots kept."`
}

// Folders is how folders of notes are read.
type Folders struct {
	MaxFileMB           float64  `json:"max_file_mb" default:"10" range:"0.1..1024" doc:"Largest note file read, in MB."`
	MaxFiles            int      `json:"max_files" default:"5000" range:"1..1000000" doc:"Most files per folder."`
	Ignore              []string `json:"ignore" default:"[]" doc:"Patterns left out of every folder."`
	ChunkChars          int      `json:"chunk_chars" default:"1200" range:"200..20000" doc:"Approximate size of a search piece."`
	Watch               bool     `json:"watch" default:"true" doc:"Rescan when a file changes."`
	RescanMinutes       int      `json:"rescan_minutes" default:"30" range:"1..10080" doc:"Periodic rescan interval."`
	Results             int      `json:"results" default:"6" range:"1..20" doc:"Search pieces returned."`
	PromptNotes         int      `json:"prompt_notes" default:"3" range:"0..20" doc:"Note pieces put into a chat prompt; 0 turns it off."`
	PromptNoteChars     int      `json:"prompt_note_chars" default:"320" range:"50..4000" doc:"Characters per note piece."`
	PromptMinSimilarity float64  `json:"prompt_min_similarity" default:"0.55" range:"0..1" doc:"Similarity needed for a note piece."`
	ClippingsAreOutside bool     `json:"clippings_are_outside" default:"true" doc:"Clipped pages count as outside content."`
}

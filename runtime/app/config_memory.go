package app

// Memory is what is remembered and recalled.
type Memory struct {
	FactsTopK                int     `json:"facts_top_k" default:"8" range:"0..50" doc:"Recalled facts put into a prompt."`
	MinSimilarity            float64 `json:"min_similarity" default:"0.35" range:"0..1" doc:"Cosine threshold for recall."`
	DuplicateSimilarity      float64 `json:"duplicate_similarity" default:"0.98" range:"0.5..1" doc:"Above this a new fact is skipped unasked."`
	ExtractAfterTurn         bool    `json:"extract_after_turn" default:"true" doc:"Mine each message for facts in the background."`
	WorkspaceBudgetChars     int     `json:"workspace_budget_chars" default:"6000" range:"500.." doc:"Characters injected per workspace file."`
	GraphLinkSimilarity      float64 `json:"graph_link_similarity" default:"0.80" range:"0..1" doc:"Edge threshold of the memory graph."`
	SummarizeAfterMinutes    int     `json:"summarize_after_minutes" default:"60" range:"5.." doc:"Age at which chat chunks become summaries."`
	SummaryChunkMessages     int     `json:"summary_chunk_messages" default:"30" range:"6.." doc:"Messages per episodic summary."`
	SummariesEnabled         bool    `json:"summaries_enabled" default:"true" doc:"Summarise older conversations."`
	SummarizeIntervalMinutes int     `json:"summarize_interval_minutes" default:"5" range:"1.." doc:"How often to look for summary work."`
	PurgeIntervalMinutes     int     `json:"purge_interval_minutes" default:"60" range:"5.." doc:"How often expired memories are removed."`
	ImportChunkChars         int     `json:"import_chunk_chars" default:"4000" range:"500..20000" doc:"Chunk size when learning from a document."`
	FlushEnabled             bool    `json:"flush_enabled" default:"true" doc:"Save facts before old turns are compressed."`
	FlushMaxChars            int     `json:"flush_max_chars" default:"6000" range:"500..50000" doc:"Transcript characters read by that flush."`
	FlushMaxFacts            int     `json:"flush_max_facts" default:"8" range:"0..50" doc:"Facts saved per flush."`
	KeywordWeight            float64 `json:"keyword_weight" default:"0.15" range:"0..1" doc:"Weight keyword hits add to similarity."`
	ReviewExpireDays         int     `json:"review_expire_days" default:"30" range:"1..365" doc:"Unreviewed held memories are dropped after this."`
	KeepSupersededDays       int     `json:"keep_superseded_days" default:"180" range:"0..36500" doc:"Days that replaced memories stay as history; 0 keeps them without limit."`
}

// Tasks is how tasks and routines run.
type Tasks struct {
	TickSeconds              int        `json:"tick_seconds" default:"30" range:"5.." doc:"Scheduler poll interval."`
	MaxConcurrentRuns        int        `json:"max_concurrent_runs" default:"2" range:"1..16" doc:"Task runs at the same time."`
	RunTimeoutMinutes        int        `json:"run_timeout_minutes" default:"30" range:"1.." doc:"Active minutes before a run asks to continue."`
	MaxToolRounds            int        `json:"max_tool_rounds" default:"40" range:"1..200" doc:"Steps before a run asks to continue."`
	MaxTokensPerRun          int        `json:"max_tokens_per_run" default:"2000000" range:"0.." doc:"Cloud tokens before a run asks; 0 means none."`
	MaxCostPerRunUSD         float64    `json:"max_cost_per_run_usd" default:"5.0" range:"0.." doc:"Cloud spend before a run asks; 0 means none."`
	RequirePlanApproval      bool       `json:"require_plan_approval" default:"true" doc:"Plans wait for a yes before running."`
	SwarmMaxAgents           int        `json:"swarm_max_agents" default:"5" range:"1..50" doc:"Parallel workers of one swarm."`
	ResumeInterruptedRuns    bool       `json:"resume_interrupted_runs" default:"true" doc:"Continue interrupted runs after a restart."`
	StuckAfterMinutes        int        `json:"stuck_after_minutes" default:"10" range:"0.." doc:"Silence after which a run asks for help; 0 turns it off."`
	StuckAfterRepeatedErrors int        `json:"stuck_after_repeated_errors" default:"5" range:"0..50" doc:"Same error in a row before asking; 0 turns it off."`
	CatchUpWindowHours       int        `json:"catch_up_window_hours" default:"12" range:"0..168" doc:"How late a missed run may still start; 0 always skips it."`
	SourceRetryMinutes       int        `json:"source_retry_minutes" default:"15" range:"1..1440" doc:"Wait before retrying a routine whose source was missing."`
	SourceRetries            int        `json:"source_retries" default:"3" range:"0..100" doc:"Retries in a row for a missing source."`
	AwayPauseDays            int        `json:"away_pause_days" default:"7" range:"0..365" doc:"Days away before routines are questioned; 0 turns it off."`
	AwayPauseAfterResults    int        `json:"away_pause_after_results" default:"20" range:"0..10000" doc:"Unread results before routines are questioned; 0 turns it off."`
	AwayAskHours             int        `json:"away_ask_hours" default:"24" range:"0..720" doc:"Hours to answer before routines pause; 0 pauses them at once."`
	Email                    TasksEmail `json:"email" doc:"Tasks from forwarded emails."`
}

// TasksEmail is how emails become tasks.
type TasksEmail struct {
	Enabled        bool     `json:"enabled" default:"false" doc:"Turn forwarded emails into tasks."`
	Address        string   `json:"address" doc:"Address that receives task emails."`
	Label          string   `json:"label" doc:"Gmail label or IMAP folder that also counts."`
	AllowedSenders []string `json:"allowed_senders" default:"[]" doc:"Further addresses that may send tasks; your own always can."`
}

// UserModel is how the picture of the owner is kept.
type UserModel struct {
	Enabled              bool    `json:"enabled" default:"true" doc:"Build a picture of the owner."`
	Role                 string  `json:"role" default:"fast" format:"role" doc:"Model role for refreshes."`
	RefreshAfterTurns    int     `json:"refresh_after_turns" default:"12" range:"1..500" doc:"Turns between refreshes."`
	MinRefreshHours      float64 `json:"min_refresh_hours" default:"24.0" range:"0..720" doc:"Minimum gap between automatic refreshes."`
	MaxOperations        int     `json:"max_operations" default:"8" range:"1..50" doc:"Insight changes per refresh."`
	MaxActiveInsights    int     `json:"max_active_insights" default:"80" range:"5..1000" doc:"Stop adding beyond this."`
	MaxOpenQuestions     int     `json:"max_open_questions" default:"5" range:"0..50" doc:"Open questions kept."`
	SupportStep          float64 `json:"support_step" default:"0.1" range:"0..0.5" doc:"Confidence gain on support."`
	ContradictStep       float64 `json:"contradict_step" default:"0.2" range:"0..1" doc:"Confidence loss on contradiction."`
	DisputeBelow         float64 `json:"dispute_below" default:"0.35" range:"0..1" doc:"Below this an insight is disputed."`
	ContextMaxChars      int     `json:"context_max_chars" default:"600" range:"0..4000" doc:"Prompt block budget."`
	ContextMinSimilarity float64 `json:"context_min_similarity" default:"0.7" range:"0..1" doc:"Relevance threshold."`
	RecentMessages       int     `json:"recent_messages" default:"30" range:"0..200" doc:"Messages read per refresh."`
	RecentFacts          int     `json:"recent_facts" default:"25" range:"0..200" doc:"Facts read per refresh."`
	RecentSummaries      int     `json:"recent_summaries" default:"5" range:"0..50" doc:"Summaries read per refresh."`
}

// Dreaming is the nightly consolidation of memory.
type Dreaming struct {
	Enabled                 bool    `json:"enabled" default:"true" doc:"Nightly memory consolidation."`
	Time                    string  `json:"time" default:"03:00" format:"clock" doc:"Local start time, written HH:MM."`
	RequireIdleMinutes      int     `json:"require_idle_minutes" default:"30" range:"0..1440" doc:"Chat silence needed."`
	Role                    string  `json:"role" default:"fast" format:"role" doc:"Model role used."`
	MaxFacts                int     `json:"max_facts" default:"500" range:"10..20000" doc:"Facts reviewed per dream."`
	MaxModelCalls           int     `json:"max_model_calls" default:"20" range:"0..500" doc:"Model-call cap."`
	MergeSimilarity         float64 `json:"merge_similarity" default:"0.9" range:"0.5..1" doc:"Similarity for duplicates."`
	MergeMinOverlap         float64 `json:"merge_min_overlap" default:"0.6" range:"0..1" doc:"Word overlap for duplicates."`
	ContradictionSimilarity float64 `json:"contradiction_similarity" default:"0.5" range:"0..1" doc:"Threshold for broad attribute checks."`
	PromoteMinRecalls       int     `json:"promote_min_recalls" default:"3" range:"1..1000" doc:"Recalls that make a fact long-term."`
	RefreshUserModel        bool    `json:"refresh_user_model" default:"true" doc:"Refresh the user model too."`
	Notify                  bool    `json:"notify" default:"true" doc:"Notify on meaningful changes."`
	MergeLanguages          bool    `json:"merge_languages" default:"true" doc:"Merge one memory saved in two languages."`
	LanguageMergeSimilarity float64 `json:"language_merge_similarity" default:"0.7" range:"0..1" doc:"Similarity needed with a multilingual embedder."`
}

// Proactivity is when suggestions are made.
type Proactivity struct {
	Enabled                 bool                 `json:"enabled" default:"true" doc:"Watch apps and suggest actions."`
	PollIntervalMinutes     int                  `json:"poll_interval_minutes" default:"10" range:"1.." doc:"Mail and calendar poll interval."`
	BaseConfidenceThreshold float64              `json:"base_confidence_threshold" default:"0.70" range:"0..1" doc:"Minimum confidence of a suggestion."`
	QuietHours              string               `json:"quiet_hours" format:"hours" doc:"No suggestions in this window, written HH:MM-HH:MM; empty means none."`
	HeartbeatMinutes        int                  `json:"heartbeat_minutes" default:"0" range:"0.." doc:"Unprompted check-in interval; 0 turns it off."`
	Sources                 []string             `json:"sources" default:"[\"gmail\", \"gcalendar\"]" doc:"Apps watched for new items."`
	ReasonerRole            string               `json:"reasoner_role" default:"fast" enum:"fast,primary" doc:"Role deciding about suggestions."`
	ContextAgentRounds      int                  `json:"context_agent_rounds" default:"3" range:"0..10" doc:"Look-up rounds before reasoning; 0 skips them."`
	FirstPollLookbackHours  int                  `json:"first_poll_lookback_hours" default:"6" range:"0..168" doc:"Look-back on an app's first poll."`
	MaxItemsPerPoll         int                  `json:"max_items_per_poll" default:"20" range:"1..200" doc:"New items handled per source per poll."`
	HeartbeatDailyCap       int                  `json:"heartbeat_daily_cap" default:"3" range:"1..24" doc:"Check-in suggestions per day."`
	SuggestionTTLHours      int                  `json:"suggestion_ttl_hours" default:"48" range:"1..720" doc:"Suggestions expire after this."`
	WebhookSuggestions      bool                 `json:"webhook_suggestions" default:"true" doc:"Suggest for webhook calls no task handles."`
	Followups               ProactivityFollowups `json:"followups" doc:"Reminders of unanswered emails."`
	Brief                   ProactivityBrief     `json:"brief" doc:"The morning and evening briefs."`
}

// ProactivityFollowups is how unanswered emails are found.
type ProactivityFollowups struct {
	Enabled           bool     `json:"enabled" default:"true" doc:"Daily search for unanswered emails."`
	Sources           []string `json:"sources" default:"[\"gmail\", \"email_imap\"]" doc:"Mail accounts checked."`
	WaitingOnYouDays  int      `json:"waiting_on_you_days" default:"3" range:"1..60" doc:"Days before a reply is suggested."`
	WaitingOnThemDays int      `json:"waiting_on_them_days" default:"4" range:"1..60" doc:"Days before a nudge is suggested."`
	MaxAgeDays        int      `json:"max_age_days" default:"21" range:"2..180" doc:"Quiet threads older than this are ignored."`
	MaxSuggestions    int      `json:"max_suggestions" default:"3" range:"1..20" doc:"Suggestions per check."`
}

// ProactivityBrief is what the briefs hold.
type ProactivityBrief struct {
	Sections        []string `json:"sections" default:"[\"calendar\", \"email\", \"tasks\", \"weather\"]" enum:"calendar,email,tasks,weather,news" doc:"Morning brief sections."`
	EveningSections []string `json:"evening_sections" default:"[\"done\", \"sent\", \"files\", \"waiting\", \"tomorrow\"]" enum:"done,sent,files,waiting,tomorrow" doc:"Evening brief sections."`
	MaxItems        int      `json:"max_items" default:"7" range:"1..20" doc:"Lines per brief."`
	NewsTopics      []string `json:"news_topics" default:"[]" doc:"News topics; none means no news."`
	SummarizeEmails bool     `json:"summarize_emails" default:"true" doc:"One model-written line per unread email."`
}

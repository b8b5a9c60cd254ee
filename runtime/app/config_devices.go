package app

// Voice is how speech is heard and spoken.
type Voice struct {
	STTProvider         string         `json:"stt_provider" default:"auto" enum:"auto,faster_whisper,sherpa,pocketsphinx,openai,deepgram,elevenlabs" doc:"Speech-to-text engine; auto picks the best that is installed."`
	STTModel            string         `json:"stt_model" default:"base" doc:"Speech-to-text model: tiny, base, small, medium, large-v3 or a cloud model id."`
	STTDevice           string         `json:"stt_device" default:"auto" enum:"auto,cpu,cuda" doc:"Where local recognition runs."`
	STTLanguage         string         `json:"stt_language" doc:"Language to recognise: a code, auto, or empty for assistant.language."`
	TTSProvider         string         `json:"tts_provider" default:"auto" enum:"auto,system,kokoro,sherpa,flite,openai,elevenlabs" doc:"Text-to-speech engine; auto picks the best that is installed."`
	TTSVoice            string         `json:"tts_voice" doc:"Voice id; empty uses the engine's default."`
	TTSSpeed            float64        `json:"tts_speed" default:"1.0" range:"0.5..2" doc:"Speaking rate."`
	TTSModel            string         `json:"tts_model" doc:"Cloud speech model; empty uses gpt-4o-mini-tts or eleven_flash_v2_5."`
	KokoroVariant       string         `json:"kokoro_variant" default:"fp32" enum:"int8,fp16,fp32" doc:"Kokoro precision."`
	VADSilenceMs        int            `json:"vad_silence_ms" default:"700" range:"200..3000" doc:"Silence ending an utterance."`
	VADMinSpeechMs      int            `json:"vad_min_speech_ms" default:"250" range:"50..2000" doc:"Shorter sounds are ignored."`
	VADMaxUtteranceS    float64        `json:"vad_max_utterance_s" default:"30.0" range:"3..120" doc:"Utterance cut-off."`
	BargeIn             bool           `json:"barge_in" default:"true" doc:"Talking interrupts speech."`
	TTSFirstClauseChars int            `json:"tts_first_clause_chars" default:"40" range:"0..240" doc:"Speak the first clause once this long; 0 speaks whole sentences only."`
	PreloadOnStart      bool           `json:"preload_on_start" default:"false" doc:"Load speech models at start."`
	WakeWord            string         `json:"wake_word" default:"hey sentient" doc:"Wake phrase."`
	WakeEngine          string         `json:"wake_engine" default:"auto" enum:"auto,whisper,openwakeword,phrase" doc:"How the wake phrase is found; auto picks the best that is installed."`
	WakeSensitivity     float64        `json:"wake_sensitivity" default:"0.5" range:"0..1" doc:"Higher wakes more easily."`
	WakeModel           string         `json:"wake_model" doc:"Wake word model for openwakeword: hey_jarvis, alexa, hey_mycroft, hey_rhasspy or the path of an .onnx file."`
	WakeWhisperModel    string         `json:"wake_whisper_model" default:"base" enum:"tiny,tiny.en,base,base.en" doc:"Whisper size for wake checks."`
	WakeEarcon          bool           `json:"wake_earcon" default:"true" doc:"Chime on wake."`
	FollowUpSeconds     float64        `json:"follow_up_seconds" default:"8.0" range:"0..120" doc:"Listen for follow-ups this long."`
	Dictation           VoiceDictation `json:"dictation" doc:"Dictation."`
}

// VoiceDictation is how dictated text is treated.
type VoiceDictation struct {
	Cleanup           string  `json:"cleanup" default:"tidy" enum:"raw,tidy,polish" doc:"How dictated text is cleaned."`
	Language          string  `json:"language" doc:"Dictation language: a code, auto, or empty for voice.stt_language."`
	StopAfterSilenceS float64 `json:"stop_after_silence_s" default:"2.5" range:"0..30" doc:"Silence that ends dictation; 0 waits for you."`
	SpeakReplies      bool    `json:"speak_replies" default:"true" doc:"Read push-to-talk answers aloud."`
}

// Nodes is how devices connect.
type Nodes struct {
	Enabled                bool `json:"enabled" default:"true" doc:"Allow devices to connect."`
	LANEnabled             bool `json:"lan_enabled" default:"false" doc:"Accept devices over the local network."`
	LANPort                int  `json:"lan_port" default:"7778" range:"1024..65535" doc:"LAN listener port."`
	LANBindAll             bool `json:"lan_bind_all" default:"false" doc:"Bind the LAN listener to every interface."`
	MDNSEnabled            bool `json:"mdns_enabled" default:"true" doc:"Announce over mDNS."`
	CameraRequiresApproval bool `json:"camera_requires_approval" default:"true" doc:"Ask before photos and screen captures."`
	AllowDesktopScreen     bool `json:"allow_desktop_screen" default:"true" doc:"Allow capturing this computer's screen."`
	InvokeTimeoutS         int  `json:"invoke_timeout_s" default:"20" range:"2..120" doc:"Wait for a device answer."`
	IdleTimeoutS           int  `json:"idle_timeout_s" default:"180" range:"30..3600" doc:"Silent devices are dropped."`
}

// Channels is how messaging apps are served.
type Channels struct {
	Enabled            bool `json:"enabled" default:"true" doc:"Allow messaging apps."`
	PairingCodeMinutes int  `json:"pairing_code_minutes" default:"10" range:"1..60" doc:"Pairing code lifetime."`
	PairingMaxAttempts int  `json:"pairing_max_attempts" default:"5" range:"1..20" doc:"Wrong codes before cancel."`
	DeliverTaskResults bool `json:"deliver_task_results" default:"true" doc:"Send task results."`
	DeliverPlans       bool `json:"deliver_plans" default:"true" doc:"Send plans with approve buttons."`
	DeliverSuggestions bool `json:"deliver_suggestions" default:"true" doc:"Send suggestions."`
	DeliverSubagents   bool `json:"deliver_subagents" default:"true" doc:"Send background-work summaries."`
	DeliverBriefs      bool `json:"deliver_briefs" default:"true" doc:"Send daily briefs."`
	DeliverReminders   bool `json:"deliver_reminders" default:"false" doc:"Copy reminders and alarms to paired chats."`

	Telegram Telegram `json:"telegram" doc:"Telegram."`
	Discord  Discord  `json:"discord" doc:"Discord."`
	WhatsApp WhatsApp `json:"whatsapp" doc:"WhatsApp."`
}

// Telegram is the Telegram bot's settings.
type Telegram struct {
	ChannelApp
	APIBase *string `json:"api_base" format:"url" doc:"Address of a self-hosted Bot API server; null uses Telegram's own."`
}

// Discord is the Discord bot's settings.
type Discord struct {
	ChannelApp
	APIBase *string `json:"api_base" format:"url" doc:"Address of a self-hosted Discord API; null uses Discord's own."`
}

// WhatsApp is the linked WhatsApp device's settings; its messages are edited at most every two seconds by default.
type WhatsApp struct {
	ChannelApp
}

// ChannelApp is what every messaging app can set.
type ChannelApp struct {
	Enabled          bool    `json:"enabled" default:"true" doc:"Allow this app."`
	DeliverDefault   bool    `json:"deliver_default" default:"true" doc:"New paired chats receive deliveries."`
	StreamEdits      bool    `json:"stream_edits" default:"true" doc:"Show replies while written by editing."`
	EditIntervalS    float64 `json:"edit_interval_s" default:"1.0" range:"0.3..10" doc:"Minimum gap between edits."`
	VoiceReplies     bool    `json:"voice_replies" default:"false" doc:"Answer voice notes with audio."`
	ShowToolActivity bool    `json:"show_tool_activity" default:"true" doc:"Show brief activity lines."`
	MemoryScope      string  `json:"memory_scope" default:"personal" format:"scope" doc:"Memory scope of the app's chats."`
}

// Integrations is how apps are connected.
type Integrations struct {
	OAuthRedirectPort           int                  `json:"oauth_redirect_port" default:"0" range:"0..65535" doc:"Loopback port for OAuth callbacks; 0 picks a free one."`
	SearchProvider              string               `json:"search_provider" default:"duckduckgo" enum:"duckduckgo,brave,google_cse,searxng" doc:"Web search backend."`
	SearxngURL                  string               `json:"searxng_url" format:"url" doc:"SearXNG base URL."`
	WeatherProvider             string               `json:"weather_provider" default:"open_meteo" enum:"open_meteo,accuweather" doc:"Weather backend."`
	MCPServers                  map[string]MCPServer `json:"mcp_servers" default:"{}" keys:"name" doc:"External MCP servers by name; their environment and header values live in the keychain."`
	MCPServerEnabled            bool                 `json:"mcp_server_enabled" default:"false" doc:"Serve this assistant to MCP clients."`
	MCPServerMemoriesSkipReview bool                 `json:"mcp_server_memories_skip_review" default:"false" doc:"Memories added over MCP skip review."`
	HideDisconnectedTools       bool                 `json:"hide_disconnected_tools" default:"true" doc:"Hide tools of apps that are not connected."`
	ReadOnly                    []string             `json:"read_only" default:"[]" doc:"App ids where only look-ups are allowed."`
	NewsCountry                 string               `json:"news_country" format:"country" doc:"Two-letter country of headlines; empty guesses it."`
	WebFetchMaxChars            int                  `json:"web_fetch_max_chars" default:"20000" range:"1000..200000" doc:"Longest page text from web fetch."`
	GitHubOAuthClientID         string               `json:"github_oauth_client_id" doc:"Enables GitHub device-flow sign-in."`
	MCPTimeoutS                 int                  `json:"mcp_timeout_s" default:"60" range:"5..600" doc:"Timeout of one MCP call."`
	FastSyncSeconds             int                  `json:"fast_sync_seconds" default:"60" range:"0..3600" doc:"Change-feed interval for mail and calendar; 0 turns it off."`
	HideOneTimeCodes            bool                 `json:"hide_one_time_codes" default:"true" doc:"Redact codes and sign-in links in email."`
	WebhookMaxBodyKB            int                  `json:"webhook_max_body_kb" default:"256" range:"1..10240" doc:"Largest inbound webhook body."`
	WebhookRateLimitPerMinute   int                  `json:"webhook_rate_limit_per_minute" default:"30" range:"0..6000" doc:"Calls per minute per webhook; 0 turns the limit off."`
	HomeAssistantLive           bool                 `json:"home_assistant_live" default:"true" doc:"Publish Home Assistant state changes live."`
	HomeAssistantCheckS         float64              `json:"home_assistant_check_s" default:"4" range:"0..60" doc:"Seconds spent reading devices back after a change; 0 turns it off."`
}

// MCPServer is one external MCP server. Values of Env are always empty here: they live in the keychain, as header values do.
type MCPServer struct {
	Transport  string            `json:"transport" default:"stdio" enum:"stdio,http" doc:"stdio starts a local command; http connects to an address."`
	Command    string            `json:"command" doc:"Program to start, for stdio."`
	Args       []string          `json:"args" default:"[]" doc:"Arguments of the program."`
	URL        string            `json:"url" format:"url" doc:"Address of the server, for http."`
	Env        map[string]string `json:"env" default:"{}" keys:"env" format:"kept" doc:"Names of the environment variables the program needs; their values live in the keychain, so they are empty here."`
	Enabled    bool              `json:"enabled" default:"true" doc:"Connect to this server."`
	Auth       string            `json:"auth" default:"none" enum:"none,headers,oauth" doc:"How to sign in to an http server."`
	HeaderKeys []string          `json:"header_keys" default:"[]" format:"header" doc:"Names of the headers sent with every request; their values live in the keychain."`
}

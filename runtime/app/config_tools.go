package app

// Tools is what tools may do.
type Tools struct {
	Approvals         ToolsApprovals `json:"approvals" doc:"When Sentient asks before it acts."`
	Disabled          []string       `json:"disabled" default:"[]" doc:"Tool names or plugin ids to hide."`
	RepeatedCallLimit int            `json:"repeated_call_limit" default:"3" range:"0..20" doc:"Same call with same result this often ends the loop; 0 turns it off."`
	Snapshots         ToolsSnapshots `json:"snapshots" doc:"Copies of files kept before they are changed."`
}

// ToolsApprovals is when a call asks first.
type ToolsApprovals struct {
	Mode               string                `json:"mode" default:"ask" enum:"off,ask,always" doc:"Global approval mode."`
	RememberSession    bool                  `json:"remember_session" default:"true" doc:"Honour \"allow for this chat\"."`
	TimeoutS           int                   `json:"timeout_s" default:"600" range:"10.." doc:"Unanswered approvals are denied after this."`
	Rules              map[string]string     `json:"rules" default:"{}" enum:"allow,if_asked,ask,hand_off,never" keys:"rule" doc:"Lasting rule per tool name or plugin id."`
	RuleOrigins        map[string]RuleOrigin `json:"rule_origins" default:"{}" keys:"rule" doc:"Notes where a rule came from."`
	GrantMinutes       int                   `json:"grant_minutes" default:"60" range:"1..1440" doc:"Length of an \"allow for a while\" grant."`
	TaskRequestMinutes int                   `json:"task_request_minutes" default:"240" range:"1..10080" doc:"How long a task's approval question stays open."`
	SecondLookModel    bool                  `json:"second_look_model" default:"true" doc:"Let the fast model double-check outgoing calls."`
	UndoSeconds        int                   `json:"undo_seconds" default:"10" range:"0..60" doc:"Delay before an email, message or post goes; 0 turns it off."`
	PreferTrash        bool                  `json:"prefer_trash" default:"true" doc:"Swap permanent deletes for the app's trash version."`
}

// RuleOrigin is a note on where a lasting rule came from.
type RuleOrigin struct {
	Rule      string  `json:"rule" enum:"allow,if_asked,ask,hand_off,never" doc:"Rule the note belongs to."`
	Said      string  `json:"said" doc:"Owner's own words, shortened."`
	At        string  `json:"at" doc:"When it was accepted."`
	SessionID *string `json:"session_id" doc:"Chat it came from."`
	Source    string  `json:"source" default:"chat" enum:"chat,approval" doc:"Whether from chat words or an approval card."`
	Via       string  `json:"via" default:"desktop" enum:"desktop,telegram,discord,whatsapp" doc:"Surface that gave the answer."`
}

// ToolsSnapshots is how files are copied before they are changed.
type ToolsSnapshots struct {
	Enabled    bool `json:"enabled" default:"true" doc:"Copy files before commands, scripts and writes."`
	MaxFileMB  int  `json:"max_file_mb" default:"5" range:"0..10240" doc:"Bigger files get no copy."`
	MaxTotalMB int  `json:"max_total_mb" default:"25" range:"0..102400" doc:"More than this in total means no copies."`
	MaxFiles   int  `json:"max_files" default:"500" range:"0..1000000" doc:"More files than this means no copies."`
	KeepDays   int  `json:"keep_days" default:"7" range:"0..3650" doc:"Days copies are kept."`
	MaxKeptMB  int  `json:"max_kept_mb" default:"1000" range:"0..1048576" doc:"Total size of kept copies."`
}

// Sandbox is where short scripts run and their limits.
type Sandbox struct {
	Enabled              bool    `json:"enabled" default:"true" doc:"Allow short Python scripts."`
	Backend              string  `json:"backend" default:"auto" enum:"auto,process,docker" doc:"Where scripts run."`
	TimeoutS             int     `json:"timeout_s" default:"120" range:"5..3600" doc:"Script time limit."`
	MaxOutputChars       int     `json:"max_output_chars" default:"20000" range:"1000..1000000" doc:"Kept per output stream."`
	MaxToolCalls         int     `json:"max_tool_calls" default:"200" range:"0..10000" doc:"Tool calls per script."`
	MaxConcurrentRuns    int     `json:"max_concurrent_runs" default:"2" range:"1..16" doc:"Scripts at once."`
	MaxFiles             int     `json:"max_files" default:"50" range:"0..1000" doc:"Files copied out per run."`
	MaxFileMB            int     `json:"max_file_mb" default:"25" range:"1..2048" doc:"Bigger files are not copied."`
	KeepWorkdirs         bool    `json:"keep_workdirs" default:"false" doc:"Keep working folders for debugging."`
	DockerImage          string  `json:"docker_image" default:"python:3.12-slim" doc:"Container image."`
	DockerMemoryMB       int     `json:"docker_memory_mb" default:"512" range:"64..65536" doc:"Container memory."`
	DockerCPUs           float64 `json:"docker_cpus" default:"1.0" range:"0.1..64" doc:"Container CPUs."`
	AllowNetworkInDocker bool    `json:"allow_network_in_docker" default:"false" doc:"Network inside the container."`
}

// Terminal is which commands may run on this computer.
type Terminal struct {
	Enabled         bool     `json:"enabled" default:"false" doc:"Allow commands on this computer."`
	AllowedFolders  []string `json:"allowed_folders" default:"[]" doc:"Folders commands may start in."`
	DefaultFolder   string   `json:"default_folder" doc:"Folder where commands start when none is given; empty uses the first allowed one."`
	AllowedCommands []string `json:"allowed_commands" default:"[\"git status\",\"git diff\",\"git log\",\"ls\",\"dir\",\"pwd\"]" format:"command" doc:"Beginnings of commands that need no question, without shell characters."`
	TimeoutS        int      `json:"timeout_s" default:"180" range:"5..3600" doc:"Command time limit."`
	MaxOutputChars  int      `json:"max_output_chars" default:"8000" range:"1000..1000000" doc:"Kept per output stream."`
}

// Browser is how the browser is driven.
type Browser struct {
	Enabled          bool                      `json:"enabled" default:"true" doc:"Allow web browsing."`
	Engine           string                    `json:"engine" default:"auto" enum:"auto,msedge,chrome,chromium" doc:"Browser to drive."`
	Headless         bool                      `json:"headless" default:"true" doc:"Run hidden."`
	IdleMinutes      float64                   `json:"idle_minutes" default:"10" range:"0..1440" doc:"Close hidden browser when idle; 0 never closes it."`
	AllowDomains     []string                  `json:"allow_domains" default:"[]" doc:"Only these sites may be opened; empty allows all."`
	BlockDomains     []string                  `json:"block_domains" default:"[]" doc:"Sites that are never opened, with their subdomains."`
	MaxSnapshotChars int                       `json:"max_snapshot_chars" default:"12000" range:"1000..200000" doc:"Page description cap."`
	MaxExtractChars  int                       `json:"max_extract_chars" default:"20000" range:"1000..500000" doc:"Readable text cap."`
	ConfirmPurchases bool                      `json:"confirm_purchases" default:"true" doc:"Ask before buy, send, post, delete clicks."`
	LiveView         bool                      `json:"live_view" default:"true" doc:"Stream page pictures."`
	Profiles         map[string]BrowserProfile `json:"profiles" default:"{\"default\":{\"kind\":\"launch\"}}" keys:"profile" doc:"Named sign-in profiles."`
}

// BrowserProfile is a named browser profile.
type BrowserProfile struct {
	Kind     string `json:"kind" default:"launch" enum:"launch,attach" doc:"Own browser or attach to a running one."`
	Engine   string `json:"engine" enum:",auto,msedge,chrome,chromium" doc:"Engine; empty uses browser.engine."`
	Endpoint string `json:"endpoint" doc:"DevTools address for attach."`
	Notes    string `json:"notes" doc:"What the profile is for."`
}

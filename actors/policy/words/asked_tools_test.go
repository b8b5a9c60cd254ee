package words

import (
	"testing"

	"sentient/actors/msg"
)

// tools of other apps, by the same rules.
func TestAskedForOthers(t *testing.T) {
	slack, discord := tool("slack_post_message", "Slack", msg.RiskSend), tool("discord_send_message", "Discord", msg.RiskSend)
	notes, post := tool("notes_delete", "Notes", msg.RiskWrite), tool("social_post", "Social", msg.RiskSend)
	check(t, slack, true, `
		post to Slack that we're done
		post a message
		post it
		message the team on Slack
		message Priya that I'm late
		use Slack to send the update
		send a message to the team
	`)
	check(t, slack, false, `
		summarize my Slack messages
		read the post on Slack
		what was posted on Slack
		message from Sam?
		post office hours
		post that we're done
		check Slack
		message Priya on Discord
	`)
	check(t, discord, true, "send a message to the guild\nmessage Ravi\nsend it on Discord\nsend it")
	check(t, discord, false, "send it to sam@example.com\nmy message is long\npost it\nsend Ravi the money")
	check(t, notes, true, `
		delete the note about milk
		remove that note
		delete it
		Delete the reminder and the note
		please get the weather and delete the note
		clear the notes
		delete "milk" from my notes app, the note I mean
		Delete the old notes and keep the new ones
	`)
	check(t, notes, false, `
		delete my reminders
		don't delete the note
		what notes did I delete?
		the deleted note
		delete the reminder, the note is fine
		delete the email about the note
		trash
		undelete the note
		add a note to delete later
		archive the note
	`)
	check(t, post, true, "post it\npublish the post\npost that I'm happy\npost “hello big world”")
	check(t, post, false, "the post is too long\nthe post\npost from Sam\nread the posts\nsend it")
}

func TestAskedForMoreTools(t *testing.T) {
	for _, c := range []struct {
		tool    Tool
		yes, no string
	}{
		{tool("file_write", "Files", msg.RiskWrite), "save the file\nwrite it\nwrite a file with my list", "send Priya the file\nemail me the file\nread the file\nthe file is here"},
		{tool("create_task_from_prompt", "Tasks", msg.RiskWrite), "create a task for this\nmake a task that reads the news\nschedule a task", "create an event from Monday\nlist my tasks\nthe task is late"},
		{Tool{Name: "home_assistant_turn_on", App: "Home Assistant", Plugin: "home_assistant", Risk: msg.RiskWrite}, "turn it on\nturn on the home lights", "turn off the home lights on the porch\nturn it off\nturn the page\nturn on"},
		{Tool{Name: "home_assistant_unlock", App: "Home Assistant", Plugin: "home_assistant", Risk: msg.RiskSend}, "unlock it\nunlock the home door", "open the home page\nopen Home Assistant\nlock it\nlock the home door"},
		{Tool{Name: "home_assistant_lock", App: "Home Assistant", Plugin: "home_assistant", Risk: msg.RiskSend}, "lock it", "unlock it\nthe lock is broken\nlock"},
		{tool("gcal_create_event", "Google Calendar", msg.RiskWrite), "create an event on Friday\nschedule an event\nadd lunch to my calendar\nbook it", "what is on my schedule\nmy book is here\nthe event is on Friday\ncancel the event"},
		{Tool{Name: "mcp_x_frobnicate", App: "X", Plugin: "mcp_x", Risk: msg.RiskWrite}, "frobnicate it\nplease frobnicate the thing on X", "do something\nthe frobnicate thing\nI frobnicate it\ndon't frobnicate it"},
		{Tool{Name: "mcp_tracker_createIssue", App: "Tracker", Plugin: "mcp_tracker", Risk: msg.RiskWrite}, "create an issue about the crash\nopen Tracker. Add an issue", "close the issue\nwhat issue"},
		{tool("cancel_reminder", "Timers", msg.RiskWrite), "cancel the reminder\ndelete that reminder\ncancel it", "set a reminder\nremind me to cancel the gym\ncancel my subscription"},
		{tool("gmail_reply", "Gmail", msg.RiskSend), "reply to the email\nanswer it\nreply to Sam's email that I'm in\nrespond to the mail", "send an email\nreply\nwhat's the reply\nforward the email"},
		{tool("gmail_forward", "Gmail", msg.RiskSend), "forward the email to Sam\nforward it\nforward this to sam@example.com", "email Sam\nlooking forward to the email\nforward planning is hard"},
		{tool("email_imap_send", "Email", msg.RiskSend), "email Sam\nsend the mail", "email Sam the Gmail thread\nread mail"},
		{tool("execute_code", "Code", msg.RiskExec), "run the code\nrun it\nexecute this code", "the run was long\nwrite some code\nrun"},
		{tool("shop_buy", "Shop", msg.RiskSend), "buy it\nbuy milk in the Shop\norder it", "my order is late\norder\nin the order\nbuy milk"},
	} {
		check(t, c.tool, true, c.yes)
		check(t, c.tool, false, c.no)
	}
}

// a look-up counts when a clause names what it reads, or its app.
func TestLookUps(t *testing.T) {
	for _, c := range []struct {
		tool    Tool
		yes, no string
	}{
		{tool("gmail_search", "Gmail", msg.RiskRead), "look in my Gmail\nany new email?\nwhat's in my inbox of emails\nIf there is mail, tell me\nI got an email\nemail Priya",
			"don't read my email\nwhat's the weather\nthe Slack email\nsearch the web\ncheck my email | no, don't read my email\nstop | hello"},
		{tool("slack_search_messages", "Slack", msg.RiskRead), "what's new on Slack\nread my messages\nsummarize my Slack messages", "messages in Gmail\nsearch for cats\nhello"},
		{tool("gcal_list_events", "Google Calendar", msg.RiskRead), "what's on my calendar\nany events today?", "list my notes\nwhat's new"},
		{tool("web_fetch", "Web", msg.RiskRead), "open that website\nfetch the page", "fetch my slippers"},
		{tool("memory_search_history", "Memory", msg.RiskRead), "what's in my history\nuse your memory", "search for cats\nread this"},
	} {
		check(t, c.tool, true, c.yes)
		check(t, c.tool, false, c.no)
	}
}

// the messages of a turn count together; a later no takes back what came before it, and what comes after counts again.
func TestLaterWords(t *testing.T) {
	check(t, gmailSend, true, `
		write to Priya | send it
		email Priya | wait, do not email her | ok, send it
		don't email Sam | email Priya
		email Priya | what's the weather?
		email Priya | no attachments
		email Priya | don't delete the note
		email Priya | ask me before deleting notes
		ask me first | ok, send it
		email Priya | stop | send it
	`)
	check(t, gmailSend, false, `
		email Priya | no, don't send it
		email Priya | ask me first
		email Priya | no
		email Priya | No!
		email Priya | stop
		email Priya | please don't
		email Priya | hold on
		email Priya | wait a minute
		email Priya | never mind
		email Priya | not yet
		email Priya | actually no
		email Priya | cancel that
		email Priya | donʼt do it
		email Priya | don't do anything
		email Priya | no more sending
		email Priya | I'll do it myself
		email Priya | let me think
		email Priya | do not email her
		email Priya | nothing should be sent
	`)
}

package session

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/storage/pebblestore"
	"sentient/transport/pretend"
)

// setup is how a script is played.
type setup struct {
	idle    time.Duration // chats sleep after this
	pebble  bool          // on the real store
	sockets int           // how many listen besides
	each    func(*game)   // after each moment in which something was done
}

// part is one chat of a game: its label begins each of its messages.
type part struct {
	label  string
	starts time.Duration
	script []step
}

// game plays scripts in one house.
type game struct {
	*house
	setup
	model   *pureModel
	kill    *killer
	players []*player
	began   map[string]int // calls whose tool began
	faults  []string       // what must not be
	ending  bool
	wasFull bool // the disk was full for a while: what was checkpointed then may be lost
	cuts    int
	hot     int // cuts in which a turn was open
	before  []string
}

type player struct {
	g *game
	part
	session   string
	at        time.Duration
	next      int
	acks      []string
	acked     []string         // texts whose message was taken, in order
	sent      map[int]msg.Sent // by tag, those with a client_id
	sentText  map[int]step
	approvals []string
	undos     []string
	asked     int  // of those, how many the person has reacted to
	polls     int  // how often the person looked whether something is asked
	thinking  bool // what is asked was seen
	seen      int
}

func (g *game) fault(format string, args ...any) {
	g.faults = append(g.faults, fmt.Sprintf(format, args...))
}

// play runs the parts in a bubble of their own and says what came of it.
func play(t *testing.T, s setup, parts ...part) *played {
	t.Helper()
	var out *played
	dir := ""
	if s.pebble {
		dir = t.TempDir()
	}
	synctest.Test(t, func(t *testing.T) {
		g := newGame(t, s, dir)
		g.open()
		defer time.Sleep(2 * time.Second)
		defer func() { g.close() }()
		start := time.Now()
		for _, p := range parts {
			g.players = append(g.players, &player{g: g, part: p, session: ulid.Make().String(), at: p.starts, sent: map[int]msg.Sent{}, sentText: map[int]step{}})
		}
		g.listen()
		for p := g.nextPlayer(); p != nil; p = g.nextPlayer() {
			time.Sleep(p.at - time.Since(start))
			synctest.Wait()
			g.look()
			p.play()
			synctest.Wait()
			g.look()
			if g.kill.isDead() {
				g.cut("kill")
			}
			if g.each != nil {
				g.each(g)
			}
		}
		g.finish()
		out = g.played()
	})
	return out
}

func newGame(t *testing.T, s setup, dir string) *game {
	g := &game{house: newHouse(t), setup: s, model: &pureModel{}, began: map[string]int{}}
	g.models.next(g.model.answer)
	g.world = pretend.New(pretend.Demo(), "")
	g.apps = slowApps(g.world, func(call string) { g.mu.Lock(); g.began[call]++; g.mu.Unlock() })
	g.house.idle = s.idle
	g.files.attach["f.txt"] = Attachment{Text: "What the file says."}
	g.files.attach["screens/s.png"] = Attachment{Image: []byte("picture"), MIME: "image/png"}
	g.set(func(c *app.Config) {
		c.Tools.Approvals.UndoSeconds = 5
		c.Chat.AutoTitle, c.Chat.HistoryWindow, c.Chat.CompressAfterMessages = true, 12, 10
	})
	g.setRules(map[string]string{"mail_send": "allow", "social_post": "allow"})
	g.wrap = func(j journal.Journal) journal.Journal {
		g.kill = &killer{Journal: j, left: -1}
		return g.kill
	}
	if s.pebble {
		g.engine = func() journal.Engine {
			e, err := pebblestore.Open(pebblestore.Options{Dir: dir, Ballast: -1})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
	return g
}

// listen adds sockets that change nothing.
func (g *game) listen() {
	for i := range g.sockets {
		sub := g.bus.Subscribe(busOptions(fmt.Sprint("extra", i), i%2 == 1))
		g.t.Cleanup(sub.Close)
		for _, p := range g.players {
			_ = g.chats.Watch(g.t.Context(), p.session, sub)
		}
	}
}

func (g *game) nextPlayer() (first *player) {
	for _, p := range g.players {
		if p.next < len(p.script) && (first == nil || p.at < first.at) {
			first = p
		}
	}
	return first
}

// look takes what the window got, and what it asks of the person.
func (g *game) look() {
	events := g.take()
	for _, p := range g.players {
		for _, e := range events[p.seen:] {
			if e["session_id"] != p.session {
				continue
			}
			switch e["type"] {
			case "approval_request":
				p.approvals = append(p.approvals, e["approval_id"].(string))
			case "undo_window":
				p.undos = append(p.undos, e["undo_id"].(string))
			}
		}
		p.seen = len(events)
	}
}

func (g *game) quiet() bool { return len(g.chats.Running())+len(g.work.Running()) == 0 }

// play does the next step.
func (p *player) play() {
	s := p.script[p.next]
	p.next++
	switch {
	case s.Do == "wait":
		p.at += s.D
	case s.Do == "react" && !p.ready(s):
	case isCut(s) && s.With == "quiet" && !p.g.quiet():
	case s.Do == "idle":
		for _, o := range p.g.players {
			o.at += s.D
		}
		time.Sleep(s.D)
	case s.Do == "killwrite":
		p.g.kill.after(s.Tag)
	case s.Do == "full" || s.Do == "room":
		p.g.store.SetFull(s.Do == "full")
		p.g.wasFull = true
	case isCut(s):
		p.g.cut(s.Do)
	default:
		for _, k := range kinds {
			if k.do == s.Do {
				p.heard(s, k.act(p, s))
			}
		}
	}
}

func (p *player) heard(s step, ack string) {
	if !isExtra(s) {
		p.acks = append(p.acks, s.Do+": "+ack)
	}
}

func (p *player) text(s step) string {
	return strings.TrimSpace(fmt.Sprintf("%s%d: Please help. %s", p.label, s.Tag, s.Text))
}

func (p *player) client(s step) string {
	if !s.ID {
		return ""
	}
	return fmt.Sprint("client-", p.label, s.Tag)
}

func (p *player) send(s step) string {
	m := msg.Send{Session: p.session, New: true, Text: p.text(s), ClientID: p.client(s)}
	if s.With != "" && !isExtra(s) {
		m.Attachments = []string{s.With}
	}
	return p.took(s, func() (msg.Sent, error) { return p.g.chats.Send(p.g.t.Context(), m) })
}

func (p *player) steer(s step) string {
	m := msg.Steer{Session: p.session, Text: p.text(s), ClientID: p.client(s)}
	return p.took(s, func() (msg.Sent, error) { return p.g.chats.Steer(p.g.t.Context(), m) })
}

func (p *player) took(s step, send func() (msg.Sent, error)) string {
	sent, err := send()
	if err != nil {
		return "error: " + err.Error()
	}
	if sent.Repeated {
		p.g.fault("%s is taken for a message that was sent before", p.text(s))
	}
	p.acked = append(p.acked, p.text(s))
	if s.ID {
		p.sent[s.Tag], p.sentText[s.Tag] = sent, s
	}
	return fmt.Sprintf("%+v", sent)
}

// again sends a message with the client_id of an earlier one: it is that one, whatever it says now.
func (p *player) again(s step) string {
	for tag := s.Tag; tag > 0; tag-- {
		first, ok := p.sent[tag]
		if !ok {
			continue
		}
		got, err := p.g.chats.Send(p.g.t.Context(), msg.Send{Session: p.session, Text: p.text(p.sentText[tag]), ClientID: p.client(p.sentText[tag])})
		if err != nil {
			return "error: " + err.Error()
		}
		if !got.Repeated || got.Steered != first.Steered || got.Turn != first.Turn || got.MessageID != first.MessageID {
			p.g.fault("message %d again: %+v, at first %+v", tag, got, first)
		}
		return fmt.Sprintf("%+v", got)
	}
	return "nothing to repeat"
}

func (p *player) cancel(step) string {
	ok, err := p.g.chats.Cancel(p.g.t.Context(), p.session)
	return fmt.Sprint(ok, err)
}

func (p *player) stopAll(step) string {
	r, err := p.g.stop.StopAll(p.g.t.Context(), "desktop")
	if len(r.NotEnded) > 0 {
		p.g.fault("a stop did not end %v", r.NotEnded)
	}
	return fmt.Sprint(r.Stopped, r.Cancelled, err)
}

func (p *player) resume(step) string {
	r, err := p.g.stop.Resume(p.g.t.Context(), "desktop")
	return fmt.Sprint(r.Stopped, err)
}

// older is the id that many before the newest; one that nobody ever had when there are not as many.
func older(ids []string, back int) string {
	if back >= len(ids) {
		return strings.Repeat("0", 26)
	}
	return ids[len(ids)-1-back]
}

func (p *player) answer(s step) string {
	ok, err := p.g.chats.Answer(p.g.t.Context(), older(p.approvals, s.Tag), s.With, "")
	return fmt.Sprint(ok, err)
}

// ready: something waits for the person, who has thought about it, or nothing will. Until then the step comes again.
func (p *player) ready(s step) bool {
	asked := len(p.approvals) + len(p.undos)
	switch {
	case p.thinking:
		p.thinking = false
	case p.asked < asked && p.g.running(p):
		p.at, p.thinking = p.at+s.D, true
	case p.g.running(p) && p.polls < 100:
		p.at, p.polls = p.at+170*time.Millisecond+7, p.polls+1
	default:
		p.polls = 0
		return true
	}
	if p.thinking || p.polls > 0 && p.asked >= asked {
		p.next--
		return false
	}
	p.polls = 0
	return true
}

// react answers what came last: a request, or a window as one would who gave that answer to a request.
func (p *player) react(s step) string {
	p.asked = len(p.approvals) + len(p.undos)
	answer := p.answer(s)
	action := "undo"
	if strings.HasPrefix(s.With, "allow") {
		action = "send_now"
	}
	if s.With != "perhaps" {
		answer += ", " + p.undo(step{With: action})
	}
	return answer
}

func (g *game) running(p *player) bool { return slices.Contains(g.chats.Running(), p.session) }

func (p *player) undo(s step) string {
	ok, err := p.g.chats.Undo(p.g.t.Context(), older(p.undos, s.Tag), s.With)
	return fmt.Sprint(ok, err)
}

func (p *player) patch(s step) string {
	row, err := p.g.chats.Patch(p.g.t.Context(), p.session, msg.ChatPatch{Title: &s.Text})
	return fmt.Sprint(string(mustJSON(row)), err)
}

func (p *player) trust(s step) string {
	upto := ""
	if rows := p.rows(); s.Tag == 1 && len(rows) > 0 {
		upto = rows[len(rows)-1].ID
	}
	r, err := p.g.chats.Trust(p.g.t.Context(), p.session, upto)
	return fmt.Sprintf("%+v %v", r, err)
}

func (p *player) rows() []msg.MessageRow {
	rows, _ := p.g.chats.Messages(p.session, 0)
	return rows
}

// resumed ends a stop, so that what waits for that can end too; a kill on the way is seen by the caller.
func (g *game) resumed() {
	if g.stop.State().Stopped {
		_, _ = g.stop.Resume(g.t.Context(), "desktop")
		synctest.Wait()
	}
}

// finish lets everything end, and shows that each chat goes on.
func (g *game) finish() {
	g.store.SetFull(false)
	g.resumed()
	for i := 0; !g.quiet(); i++ {
		if i == 50 {
			g.fault("something never ends: %v", g.work.Running())
			break
		}
		g.wait(20 * time.Minute)
		g.look()
		if g.kill.isDead() {
			g.cut("kill")
			g.resumed()
		}
	}
	g.kill.after(-1)
	g.resumed()
	g.wait(20 * time.Minute)
	for _, p := range g.players {
		p.heard(step{Do: "last"}, p.send(step{Do: "send", Tag: 1000, Text: "#fresh"}))
		g.wait(time.Minute)
		if rows := p.rows(); len(rows) == 0 || !strings.HasPrefix(rows[len(rows)-1].Content, "Reply ") {
			g.fault("the chat does not go on: %v", rows)
		}
	}
	g.look()
	g.ending = true
	if g.each != nil {
		g.each(g)
	}
}

// played is what a game came to, each chat without what differs from run to run.
type played struct {
	chats  []chatPlayed
	faults []string
	cuts   int
	hot    int
	before []string // the transcript before the first cut
	jobs   []string // what the model was asked for
}

type chatPlayed struct {
	rows, log, acks, left []string
	row                   string
	failed                bool // a turn failed, so that rows were taken back
}

var (
	idPattern   = regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
)

// names gives every id the number of its first mention.
type names map[string]string

func (n names) of(s string) string {
	s = idPattern.ReplaceAllStringFunc(s, func(id string) string {
		if n[id] == "" {
			n[id] = fmt.Sprint("#", len(n)+1)
		}
		return n[id]
	})
	return sentNumber.ReplaceAllString(timePattern.ReplaceAllString(s, "<time>"), "sent")
}

func (n names) rows(rows []msg.MessageRow) (list []string) {
	for _, r := range rows {
		list = append(list, n.of(string(mustJSON(r))))
	}
	return list
}

func (g *game) played() *played {
	out := &played{cuts: g.cuts, hot: g.hot, before: g.before}
	r, err := g.j.Read()
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Close()
	for _, p := range g.players {
		n := names{}
		c := chatPlayed{rows: n.rows(p.rows()), left: g.left(r, p.session)}
		row, _, err := g.chats.Tables().Sessions.Get(r, []byte(p.session))
		if err != nil {
			g.t.Fatal(err)
		}
		c.row = n.of(string(mustJSON(row)))
		c.row = regexp.MustCompile(`"((created|updated)_at|order)":\d+`).ReplaceAllString(c.row, "")
		log := g.log(r, p.session)
		for _, b := range log {
			c.log = append(c.log, n.of(b))
			c.failed = c.failed || strings.HasPrefix(b, `{"type":"error"`)
		}
		for _, a := range p.acks {
			c.acks = append(c.acks, n.of(a))
		}
		g.checkChat(p, log)
		if len(c.left) > 0 {
			g.fault("left behind: %v", c.left)
		}
		out.chats = append(out.chats, c)
	}
	g.checkEffects()
	for _, a := range g.model.asked {
		out.jobs = append(out.jobs, a.r.Job)
	}
	out.faults = g.faults
	return out
}

// log is what is kept of a chat, as a client that comes back gets it.
func (g *game) log(r journal.Reader, session string) (list []string) {
	for e, err := range r.Log(0) {
		if err != nil {
			g.t.Fatal(err)
		}
		if b, ok := g.chats.Render(r, e); ok && (e.Topic == session || strings.Contains(string(b), session)) {
			list = append(list, string(b)+"}")
			if !json.Valid([]byte(list[len(list)-1])) {
				g.fault("not JSON: %s", b)
			}
		}
	}
	return list
}

// cut ends the engine and starts it again: in order, or as a kill would.
func (g *game) cut(how string) {
	g.look()
	var cuts []*wasCut
	for _, p := range g.players {
		cuts = append(cuts, p.beforeCut(how))
	}
	if g.cuts == 0 && len(g.players) > 0 {
		g.before = names{}.rows(cuts[0].rows)
	}
	g.cuts++
	next := g.store.Reopen()
	if how == "kill" {
		g.kill.now() // a dead engine writes nothing
	}
	g.close()
	if how == "restart" && !g.pebble {
		next = g.store.Reopen()
	}
	g.store = next
	g.open()
	synctest.Wait()
	g.look()
	for _, c := range cuts {
		c.check()
	}
	g.listen()
}

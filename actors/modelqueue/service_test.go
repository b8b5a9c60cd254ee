package modelqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// one job at a time on a runtime, ollama and ollama_chat together; another runtime has its own; what has no
// runtime (cloud models, the guide) never waits.
func TestOneAtATime(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		first := r.call(local("titles"))
		r.began(first, true, "a free model")
		later := []*job{r.call(local("memory")), r.call(local("task")), r.call(local("interactive")), r.call(local("chat"))}
		cloud := r.call(Call{Model: "openai/gpt", Job: "titles"})
		r.began(cloud, true, "a cloud model")
		cloud.end()
		other := r.call(Call{Runtime: "http://localhost:9", Model: "ollama/x", Job: "interactive"})
		r.began(other, true, "another runtime")
		other.end()
		time.Sleep(time.Hour)
		for _, j := range later {
			r.began(j, false, "while another call runs")
		}
		first.end()
		for i := len(later) - 1; i >= 0; i-- {
			if i == 1 { // the chat's reply has to be over and quiet first
				time.Sleep(30 * time.Second)
			}
			r.began(later[i], true, fmt.Sprint("call ", i))
			later[i].end()
		}
		if got := strings.Join(r.order, " "); got != "titles titles interactive chat interactive task memory" {
			t.Fatal(got)
		}
	})
}

// models.local_queue off: nothing waits, whatever it is for; turned off it lets go what waits, turned on it cuts nothing.
func TestTheQueueCanBeTurnedOff(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 3}, func(t *testing.T, r *room) {
		a, b, c := r.call(local("chat")), r.call(local("chat")), r.call(local("titles"))
		r.began(a, true, "first")
		r.began(b, false, "second")
		off := *r.cfg
		off.Models.LocalQueue = false
		was := r.cfg
		r.cfg = &off
		r.Changed()
		r.began(b, true, "turned off")
		r.began(c, true, "turned off")
		r.cfg = was
		r.Changed()
		d := r.call(local("chat"))
		for _, j := range []*job{a, b, c} {
			r.began(d, false, "three still run")
			j.end()
		}
		r.began(d, true, "all have ended")
		d.end()
	})
}

// cancelling frees the place, of a call that runs as well as of one that waits.
func TestCancellingFrees(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		running, waiting, last := r.call(local("interactive")), r.call(local("interactive")), r.call(local("interactive"))
		waiting.cancel()
		<-waiting.over
		if !errors.Is(waiting.err, context.Canceled) {
			t.Fatal(waiting.err)
		}
		if b := r.busy(); b.Waiting != 1 {
			t.Fatalf("%+v", b)
		}
		running.cancel()
		r.began(last, true, "the stream was cancelled")
		last.end()
		if b := r.busy(); b.Busy || b.Waiting != 0 {
			t.Fatalf("%+v", b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Acquire(ctx, local("chat")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

// background work waits while a reply runs and for models.background_quiet_s after it; a reply whose tool does
// not use the model holds it back for 60 seconds only; what the reply itself needs goes at once.
func TestBackgroundWaitsForTheChat(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		mine := local("chat")
		mine.Reply = "session/a"
		r.ReplyBegan("session/a")
		title := r.call(local("titles"))
		r.began(title, false, "a reply runs")
		r.deferred(1, "chat")
		say := r.call(mine)
		r.began(say, true, "the reply itself")
		time.Sleep(10 * time.Minute) // one long stream
		r.began(title, false, "the reply streams")
		say.end() // now a tool runs
		r.goesAfter(title, 60*time.Second, "the reply leaves the model alone")
		title.end()

		memory := r.call(local("memory"))
		r.began(memory, true, "the tool still runs")
		again := r.call(mine)
		r.began(again, false, "a running call is never cut")
		memory.end()
		r.began(again, true, "the model is free")
		task := r.call(local("task"))
		again.end()
		r.ReplyEnded("session/a")
		r.deferred(1, "chat")
		r.goesAfter(task, 30*time.Second, "quiet")
		task.end()
		if r.busy().Deferred != 0 {
			t.Fatal("something is still deferred")
		}
	})
}

// A chat with a cloud model is a chat too.
func TestACloudReplyHoldsBackgroundWorkBack(t *testing.T) {
	inRoom(t, Power{Percent: -1}, func(t *testing.T, r *room) {
		r.ReplyBegan("session/a")
		time.Sleep(20 * time.Second)
		r.ReplyEnded("session/a")
		r.goesAfter(r.call(local("titles")), 30*time.Second, "quiet")
	})
}

// on battery scheduled upkeep needs the level, no chat for five minutes, and a burst; a task goes on time.
func TestOnBattery(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 40}, func(t *testing.T, r *room) {
		upkeep := r.call(local("memory"))
		r.deferred(1, "battery")
		task := r.call(local("task"))
		r.began(task, true, "a task on battery")
		task.end()
		r.powered(Power{OnBattery: true, Percent: 41})
		r.began(upkeep, true, "above the least")
		upkeep.end()

		time.Sleep(20 * time.Second)
		next := r.call(local("skills"))
		r.deferred(1, "battery")
		r.goesAfter(next, 30*time.Minute-20*time.Second, "the next burst")
		rest := r.call(local("memory"))
		next.end()
		r.began(rest, true, "the rest of the pass")
		rest.end()

		say := r.call(local("chat"))
		say.end()
		time.Sleep(40 * time.Minute)
		say = r.call(local("chat"))
		say.end()
		late := r.call(local("memory"))
		r.deferred(1, "battery")
		r.goesAfter(late, 5*time.Minute, "not chatted for so long")
		late.end()

		time.Sleep(burstGap)
		held := r.call(local("titles"))
		r.began(held, false, "no burst is due")
		r.powered(Power{Percent: 80})
		r.began(held, true, "plugged in")
		held.end()
	})
}

// models.background_on_battery lifts the three limits. A-290: but not the critical level, and nothing waits past the cap;
// what the cap let go is followed by the rest of its pass at once.
func TestLiftedAndCapped(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 20}, func(t *testing.T, r *room) {
		lifted := *r.cfg
		lifted.Models.BackgroundOnBattery = true
		upkeep := r.call(local("memory"))
		r.deferred(1, "battery")
		r.cfg = &lifted
		r.Changed()
		r.began(upkeep, true, "lifted")
		upkeep.end()

		r.powered(Power{OnBattery: true, Percent: 15})
		low := r.call(local("memory"))
		time.Sleep(time.Hour)
		second := r.call(local("skills"))
		r.deferred(2, "battery_low")
		r.goesAfter(low, time.Hour, "the cap")
		r.began(second, false, "one at a time")
		low.end()
		r.began(second, true, "the rest of the pass")
		second.end()
		time.Sleep(burstGap)
		third := r.call(local("memory"))
		r.began(third, false, "the burst is over")
		third.cancel()
		<-third.over
	})
}

// Dream now is held by the critical level only, and by the cap; its burst takes nothing scheduled along.
func TestDreamNow(t *testing.T) {
	inRoom(t, Power{OnBattery: true, Percent: 20}, func(t *testing.T, r *room) {
		dream := local("memory")
		dream.Asked = true
		now := r.call(dream)
		r.began(now, true, "Dream now at 20 %")
		now.end()
		r.powered(Power{OnBattery: true, Percent: 10})
		held := r.call(dream)
		r.deferred(1, "battery_low")
		time.Sleep(time.Hour)
		rest := r.call(dream)
		scheduled := r.call(local("memory"))
		r.goesAfter(held, time.Hour, "the cap")
		held.end()
		r.began(rest, true, "the rest of the dream")
		rest.end()
		r.began(scheduled, false, "scheduled upkeep rode along")
		scheduled.cancel()
		<-scheduled.over
	})
}

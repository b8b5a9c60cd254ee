package grants

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/act"
	"sentient/storage/journal"
	"sentient/storage/memstore"
)

type bench struct {
	*Service
	journal *journal.Committer
	actors  *act.System
	told    *[]string
}

func open(t *testing.T, disk journal.Engine, told *[]string) bench {
	t.Helper()
	j, err := journal.Open(context.Background(), journal.Options{Disk: disk, Memory: memstore.New(), Deliver: func(es []journal.Entry) {
		for _, e := range es {
			*told = append(*told, string(e.Data))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	sys := act.New(act.Options{})
	s, err := New(sys, Options{Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	return bench{s, j, sys, told}
}

func (b bench) close() {
	_ = b.actors.Close(context.Background())
	_ = b.journal.Close(context.Background())
}

func timed(id string, d time.Duration) msg.Grant {
	now := time.Now()
	return msg.Grant{ID: id, Tool: "mail_send", Label: "Send", App: "Mail", Scope: msg.GrantTimed, Risk: "send", Via: "desktop", CreatedAt: msg.Time{Time: now}, ExpiresAt: &msg.Time{Time: now.Add(d)}}
}

func ids(list []msg.Grant) string {
	var s []string
	for _, g := range list {
		s = append(s, g.ID)
	}
	return strings.Join(s, " ")
}

// newest first, without those whose time is up; adding, revoking and running out are told, with how many are left.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		var told []string
		b := open(t, memstore.New(), &told)
		defer b.close()
		for i, id := range []string{"a", "b", "c"} {
			if err := b.Grant(ctx, timed(id, time.Duration(i+1)*time.Hour)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if got := ids(b.List()); got != "c b a" {
			t.Fatal(got)
		}
		if err := b.Revoke(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		var f *msg.Fault
		if err := b.Revoke(ctx, "b"); !errors.As(err, &f) || f.Kind != msg.NotFound {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := ids(b.List()) + "|" + ids(b.Grants()); got != "c|c" {
			t.Fatal(got)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if len(b.List()) != 0 {
			t.Fatal(b.List())
		}
		if n := len(told); n != 6 || !strings.Contains(told[3], `"count":2`) || !strings.Contains(told[5], `"count":0`) {
			t.Fatalf("%d %v", n, told)
		}
	})
}

// A grant that was revoked stays so: the same answer, delivered again, gives nothing. A restart keeps both.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		var told []string
		disk := memstore.New()
		b := open(t, disk, &told)
		task, name := "t1", "Report"
		forTask := msg.Grant{ID: "t", Tool: "mail_send", Scope: msg.GrantTask, TaskID: &task, TaskName: &name, Risk: "send", CreatedAt: msg.Time{Time: time.Now()}}
		for _, g := range []msg.Grant{timed("a", time.Hour), timed("b", time.Hour), forTask} {
			if err := b.Grant(ctx, g); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Revoke(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		_ = b.actors.Close(ctx)
		sys := act.New(act.Options{})
		s, err := New(sys, Options{Journal: b.journal})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Grant(ctx, timed("a", time.Hour)); err != nil || len(s.List()) != 2 {
			t.Fatal(err, s.List())
		}
		if err := s.ForgetTask(ctx, task); err != nil || ids(s.List()) != "b" {
			t.Fatal(err, s.List())
		}
		_ = sys.Close(ctx)
		_ = b.journal.Close(ctx)
	})
}

func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		b := open(t, memstore.New(), &told)
		defer b.close()
		for name, g := range map[string]msg.Grant{
			"no tool":         {ID: "x", Scope: msg.GrantTimed},
			"timed, no end":   {ID: "x", Tool: "t", Scope: msg.GrantTimed},
			"task, no task":   {ID: "x", Tool: "t", Scope: msg.GrantTask},
			"an unknown kind": {ID: "x", Tool: "t", Scope: "always"},
		} {
			if err := b.Grant(context.Background(), g); err == nil {
				t.Error(name)
			}
		}
		if len(b.Grants()) != 0 || len(told) != 0 {
			t.Fatal(b.Grants(), told)
		}
	})
}

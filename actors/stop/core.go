package stop

import (
	"slices"
	"strings"
	"time"

	"sentient/actors/msg"
	pb "sentient/proto/stop"
	"sentient/runtime/work"
)

// Sources are where a stop or a resume can come from (section 17, DECISIONS 5).
var Sources = []string{"desktop", "tray", "hotkey", "telegram", "discord", "whatsapp", "api", "cli", "device"}

const defaultSource = "desktop" // A-1085

// sourceOf checks a client's word.
func sourceOf(s string) (string, error) {
	if s == "" {
		return defaultSource, nil
	}
	if !slices.Contains(Sources, s) {
		return "", msg.NewFault(msg.Invalid, "source must be one of "+strings.Join(Sources, ", "))
	}
	return s, nil
}

// first is the state of an engine that was never stopped.
func first() *pb.StateRow { return &pb.StateRow{Epoch: work.FirstEpoch} }

// stopped is the state after one more stop. What was stopped already keeps when and by whom; what began since is of an older
// epoch now (A-1080).
func stopped(s *pb.StateRow, source string, now time.Time) *pb.StateRow {
	next := &pb.StateRow{Stopped: true, StoppedAt: s.StoppedAt, Source: s.Source, Epoch: max(s.Epoch, work.FirstEpoch) + 1}
	if !s.Stopped {
		next.StoppedAt, next.Source = now.UnixMicro(), source
	}
	return next
}

// resumed is the state after Resume. The epoch stays: what a stop had ended is not brought back.
func resumed(s *pb.StateRow, source string) *pb.StateRow {
	if !s.Stopped {
		return s
	}
	return &pb.StateRow{Source: source, Epoch: s.Epoch}
}

func wireOf(s *pb.StateRow) msg.StopState {
	w := msg.StopState{Stopped: s.Stopped}
	if s.Stopped {
		w.StoppedAt = &msg.Time{Time: time.UnixMicro(s.StoppedAt)}
	}
	if s.Source != "" {
		w.Source = &s.Source
	}
	return w
}

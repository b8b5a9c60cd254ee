package session

import (
	"testing"
	"time"
)

// A resume while a full disk keeps a cut turn from being settled starts nothing over it: each turn ends once, and what waits
// behind it is answered when there is room.
func TestResumeWhileACutTurnIsNotSettled(t *testing.T) {
	game := alone(t, setup{}, []step{
		{Do: "send", Tag: 2, Text: "#mix #wrong", ID: true},
		{Do: "send", Tag: 4, Text: "#post #lock", With: "screens/s.png", ID: true},
		{Do: "send", Tag: 5, ID: true},
		{Do: "full"},
		{Do: "wait", D: 1038660828 * time.Nanosecond},
		{Do: "room"},
		{Do: "resume"},
	})
	if problem := wrongs(game); problem != "" {
		t.Fatal(problem)
	}
}

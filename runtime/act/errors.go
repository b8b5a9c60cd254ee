package act

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrCrashed goes to the sender of the one message that its receiver crashed on. The messages behind it are kept.
	ErrCrashed = errors.New("the part of the engine that handled this failed and is being restarted; try again")
	// ErrStopping goes to the sender of a message that came, or still waited, when its owner was being closed.
	ErrStopping = errors.New("the engine is stopping; try again once it has started")
	// ErrNoTarget is Ask's answer for a zero Ref or a nil message.
	ErrNoTarget = errors.New("this message has no receiver")

	errEnded = errors.New("the actor that owned this work has stopped or was restarted")
)

// ParkedError goes to the sender of every message for an actor that kept crashing and is no longer restarted.
type ParkedError struct {
	Owner, Key string
	Reason     string // of the last crash
	At         time.Time
}

func (e *ParkedError) Error() string {
	return fmt.Sprintf("%s %q kept failing and was set aside: %s", e.Owner, e.Key, e.Reason)
}

// UnstoppedError names the actors that were still running when the time to close was over.
type UnstoppedError struct{ Names []string }

func (e *UnstoppedError) Error() string {
	return "these parts did not stop in time: " + strings.Join(e.Names, ", ")
}

// Failer is a message whose sender waits for an outcome. Fail is called, at most once by this package, when the receiver
// crashed on the message (ErrCrashed), is parked (*ParkedError) or is stopping (ErrStopping). It must not block.
type Failer interface{ Fail(error) }

package msg

import "errors"

// Fault is an error that a client may see: what kind it is and one plain sentence that says what to do.
type Fault struct {
	Kind FaultKind
	Text string
}

// FaultKind decides the HTTP status.
type FaultKind int

const (
	NotFound   FaultKind = iota + 1 // 404
	Invalid                         // 422
	BadRequest                      // 400
	Conflict                        // 409
	Busy                            // 503 with Retry-After
	Full                            // 507
	Stopping                        // 503
)

func (f *Fault) Error() string { return f.Text }

// NewFault makes a Fault.
func NewFault(k FaultKind, text string) *Fault { return &Fault{k, text} }

// AsFault finds a Fault in err.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// The faults several rooms share.
var (
	ErrNoChat     = NewFault(NotFound, "This chat doesn't exist (anymore).")
	ErrNoApproval = NewFault(NotFound, "Nothing is waiting for this answer: it was answered already, ran out or was stopped.")
	ErrBusy       = NewFault(Busy, "Sentient is busy: too much is waiting already. Try again in a moment.")
	ErrStopping   = NewFault(Stopping, "Sentient is shutting down. Try again when it runs again.")
	// ErrDropped is what becomes of a message that waited while everything was stopped (section 17).
	ErrDropped  = NewFault(Conflict, "Stopped. Your queued message wasn't sent.")
	ErrDiskFull = NewFault(Full, "The disk is full: free some space, then try again. Nothing was lost.")
)

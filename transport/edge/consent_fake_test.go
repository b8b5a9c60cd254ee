package edge

import (
	"context"

	"sentient/actors/msg"
)

// fakeConsent has one grant "7", one open window "u7", and the proposals "7" (open) and "8" (answered) in every chat.
type fakeConsent struct{ chats *fakeChats }

func (fakeConsent) Grants() []msg.Grant { return []msg.Grant{} }

func (fakeConsent) Revoke(_ context.Context, id string) error {
	if id != "7" {
		return msg.NewFault(msg.NotFound, "This permission doesn't exist (anymore).")
	}
	return nil
}

func (fakeConsent) Undo(_ context.Context, id, _ string) (bool, error) { return id == "u7", nil }

func (f fakeConsent) Proposals(session, _ string) ([]msg.RuleProposal, error) {
	_, err := f.chats.Messages(session, 1)
	return []msg.RuleProposal{}, err
}

func (fakeConsent) Decide(_ context.Context, id string, accept bool) (msg.RuleProposal, error) {
	switch id {
	case "7":
		return msg.RuleProposal{ID: id, Status: map[bool]string{true: "accepted", false: "declined"}[accept], Keys: []string{}, Targets: []msg.RuleTarget{}}, nil
	case "8":
		return msg.RuleProposal{}, msg.NewFault(msg.Conflict, "This rule proposal was answered already.")
	}
	return msg.RuleProposal{}, msg.NewFault(msg.NotFound, "There is no such rule proposal.")
}

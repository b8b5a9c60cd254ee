package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sentient/actors/msg"
)

// Moment is the result of current_datetime.
type Moment struct {
	ISO      string `json:"iso"`
	Date     string `json:"date"`
	Time     string `json:"time"` // HH:MM
	Weekday  string `json:"weekday"`
	Timezone string `json:"timezone"`
}

// TimePlugin is the plugin "time" with current_datetime. now gives the time; zone the person's own time zone
// (assistant.timezone), "" for the computer's.
func TimePlugin(now func() time.Time, zone func() string) msg.Plugin {
	trusted := false
	return msg.Plugin{
		ID: "time", DisplayName: "Date and time", Description: "The current date, time and weekday, in any time zone.",
		Category: "core", Icon: "clock", Auth: "none", SelectionHint: "what day is it, what time is it, dates and time zones",
		Tools: []msg.Tool{{
			Name:        "current_datetime",
			Description: "Get the current date, time and weekday. Without a time zone it is the user's own.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"timezone":{"anyOf":[{"type":"string"},{"type":"null"}],` +
				`"description":"An IANA name such as Europe/Berlin. Leave it out for the user's own time zone.","default":null}},"additionalProperties":false}`),
			Risk:      msg.RiskRead,
			Untrusted: &trusted,
			Run: func(_ context.Context, c *msg.Call) (any, error) {
				name, _ := c.Args["timezone"].(string)
				if strings.TrimSpace(name) == "" {
					name = zone()
				}
				return momentIn(now(), strings.TrimSpace(name))
			},
		}},
	}
}

func momentIn(t time.Time, name string) (Moment, error) {
	loc := time.Local
	if name != "" {
		var err error
		if loc, err = time.LoadLocation(name); err != nil {
			return Moment{}, fmt.Errorf("there is no time zone called %q: use a name such as Europe/Berlin", msg.Clip(name, 60))
		}
	}
	t = t.In(loc)
	if name = loc.String(); name == "Local" {
		name = t.Format("UTC-07:00")
	}
	return Moment{ISO: t.Format(time.RFC3339), Date: t.Format(time.DateOnly), Time: t.Format("15:04"), Weekday: t.Weekday().String(), Timezone: name}, nil
}

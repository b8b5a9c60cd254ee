package power

import (
	"context"
	"os/exec"
	"time"
)

// pmsetWait bounds the question; pmset answers in milliseconds.
const pmsetWait = 2 * time.Second

func (r Reader) system(ctx context.Context) Reading {
	ctx, cancel := context.WithTimeout(ctx, pmsetWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/usr/bin/pmset", "-g", "batt").Output()
	if err != nil {
		return mains
	}
	return parsePmset(string(out))
}

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A document cannot take more memory than the limit: the child dies, and only it. The test runs itself as the child.
func TestMemoryLimit(t *testing.T) {
	if racing {
		t.Skip("the race detector needs more address space than the limit")
	}
	const role = "SENTIENT_TEST_HOG"
	if os.Getenv(role) != "" {
		limitSelf()
		var kept [][]byte
		for range 64 {
			kept = append(kept, make([]byte, 64<<20))
		}
		t.Log("survived with", len(kept), "blocks")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryLimit$", "-test.v")
	cmd.Env = append(os.Environ(), role+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "survived") || !strings.Contains(string(out), "memory") {
		t.Fatalf("4 GB were given: %v\n%s", err, out)
	}
}

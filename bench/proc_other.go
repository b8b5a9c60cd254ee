//go:build !linux

package bench

import (
	"errors"
	"math"
	"time"
)

var errNoProc = errors.New("CPU time and memory of the engine are measured on Linux only")

func cpuTime(int) (time.Duration, error) { return 0, errNoProc }

func busyTime() (time.Duration, error) { return 0, errNoProc }

func memoryOf(int) (memory, error) { return memory{}, errNoProc }

func openFiles() (int, error) { return math.MaxInt32, nil }

//go:build !linux

package faults

import (
	"errors"
	"runtime"
)

var errNotHere = errors.New("this can only be done on Linux")

const noLimit = 1 << 62

func openFiles(int) (int, error)           { return 0, errNotHere }
func addressSpace(int) (uint64, error)     { return 0, errNotHere }
func limitFiles(int, int) error            { return errNotHere }
func limitSpace(int, uint64) error         { return errNotHere }
func mount(string) error                   { return errNotHere }
func unmount(string)                       {}
func freeze(int) error                     { return errNotHere }
func thaw(int) error                       { return errNotHere }
func family(int) map[int]string            { return nil }
func alive(map[int]string) (list []string) { return nil }
func marked(string) []string               { return nil }
func machine() string                      { return runtime.GOOS + "/" + runtime.GOARCH }

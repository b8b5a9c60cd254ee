//go:build !race

package act_test

const raceOn = false

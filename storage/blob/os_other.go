//go:build !unix

package blob

const nonblock = 0

func isNotDir(error) bool { return false }

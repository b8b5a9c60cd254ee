// Package window owns the window: the web client that the gateway serves, built into the binary. dist/ holds the built one;
// until there is one, static/ is a small page that needs no build.
package window

import (
	"embed"
	"io/fs"
)

//go:embed static all:dist
var files embed.FS

// FS is the window's files, with index.html at its root.
func FS() fs.FS {
	if sub, err := fs.Sub(files, "dist"); err == nil {
		if _, err := fs.Stat(sub, "index.html"); err == nil {
			return sub
		}
	}
	sub, err := fs.Sub(files, "static")
	if err != nil { // cannot happen: the name is a constant
		return embed.FS{}
	}
	return sub
}

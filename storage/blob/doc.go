// Package blob owns the files folder: uploads, screen pictures, selected text, tool results, downloads and what the
// assistant wrote. Every name is relative to that folder and stays inside it, links followed; every save is whole or
// absent, also after a crash.
package blob

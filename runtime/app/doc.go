// Package app owns what every part of the engine is started with: the typed configuration with its schema, file and hot apply,
// the ordered start and stop, the engine's log, its health, and the paths of its home folder.
//
// Nothing here decides what a setting means for a feature; it only says which values are allowed and hands them out.
package app

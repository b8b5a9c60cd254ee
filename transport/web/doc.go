// Package web owns the look into the public web: web_fetch reads a page as text, web_search asks a search engine. Only
// public addresses are opened: the address that was checked is the address that is dialled, for every redirect anew.
package web

// Package file owns what the assistant does with the files folder: the tools file_list, file_read and file_write, and what a
// chat reads of an attachment. Long files are given in parts that fit the run's limit; PDF and Word files are parsed by a
// child process behind Documents.
package file

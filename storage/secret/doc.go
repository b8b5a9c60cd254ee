// Package secret owns keys, tokens and sign-ins: in the operating system's keychain, one namespace per data folder, or, where no keychain
// can be reached, in an encrypted file. A value is never written in clear, and never appears in an error or in the log.
package secret

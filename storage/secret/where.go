package secret

import "context"

// InKeychain says whether secrets are kept in the system's keychain, rather than in the encrypted file. Like any first use it
// finds that out.
func (s *Store) InKeychain(ctx context.Context) bool {
	if s.begin(ctx) != nil {
		return false
	}
	defer s.end()
	return s.onChain
}

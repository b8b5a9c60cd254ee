package journal

// StoreError: the store as a whole is damaged and was not opened. Nothing was removed.
type StoreError struct {
	Dir  string // the store's folder
	What string // what is wrong, a clause that names the file
	Do   string // what else can be done than to put a backup back, a sentence; may be empty
	Err  error
}

func (e *StoreError) Error() string {
	s := "the store in " + e.Dir + " is damaged: " + e.What + ". Nothing was removed. Put a backup of this folder in its place"
	if e.Do != "" {
		s += ". " + e.Do
	}
	return s
}
func (e *StoreError) Unwrap() error { return e.Err }

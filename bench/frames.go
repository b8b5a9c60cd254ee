package bench

import "bytes"

// What the scenarios look for in events. The engine renders an event's type first, so no JSON is decoded.
var (
	eventText  = []byte(`{"type":"text_delta"`)
	eventDone  = []byte(`{"type":"done"`)
	eventError = []byte(`{"type":"error"`)
	textMember = []byte(`"text":"`)
	fatal      = []byte(`"recoverable":false`)

	sseContent = []byte(`"delta":{"content":"`)
	sseData    = []byte("data: ")
	sseDone    = []byte("data: [DONE]")
)

// stamps calls fn with each token of the text that follows member in b: the time the model wrote it, in Unix nanoseconds. A
// text that merged several tokens has several. What is not a number followed by a space is skipped.
func stamps(b, member []byte, fn func(int64)) {
	i := bytes.Index(b, member)
	if i < 0 {
		return
	}
	var n int64
	digits := 0
	for _, c := range b[i+len(member):] {
		switch {
		case c >= '0' && c <= '9' && digits < 19:
			n, digits = n*10+int64(c-'0'), digits+1
		case c == ' ' && digits > 0:
			fn(n)
			n, digits = 0, 0
		case c == '"':
			return
		default:
			n, digits = 0, 0
		}
	}
}

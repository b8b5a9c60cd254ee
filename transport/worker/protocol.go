package worker

// Kinds of documents.
const (
	KindPDF  = "pdf"
	KindDocx = "docx"
	KindPage = "page"
)

// Command is the child's first argument for this protocol.
const Command = "document"

// DocumentFD is where the child finds the open document file; a page comes on stdin after the request.
const DocumentFD = 3

const (
	maxChars    = 1_000_000 // of one answer's text
	maxResponse = 16 << 20  // bytes of one answer
	// MaxPage is how many bytes of a page are parsed.
	MaxPage = 8 << 20
)

// Request is one line of JSON on the child's stdin.
type Request struct {
	Kind   string `json:"kind"`
	URL    string `json:"url,omitempty"`  // of a page, for its relative links
	Size   int    `json:"size,omitempty"` // bytes of UTF-8 HTML that follow the line, for a page
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"` // characters from Offset on
	Millis int64  `json:"millis"`          // the child ends itself after this time
}

// Response is the JSON on the child's stdout. Error is a plain sentence.
type Response struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	Total int    `json:"total"` // characters of the whole; -1 when it was only read as far as this part
	More  bool   `json:"more"`
	Error string `json:"error,omitempty"`
}

package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const (
	maxLine   = 8 << 20   // bytes of one line of a stream
	maxReply  = 16 << 20  // bytes of text, thinking and tool arguments of one reply
	maxStream = 512 << 20 // bytes of one stream as sent, so that one that says nothing ends too
	maxCalls  = 128       // tool calls of one reply
)

var (
	errLineTooLong   = errors.New("a line of the stream is longer than 8 MiB")
	errStreamTooLong = errors.New("the stream is longer than 512 MiB")
	errReplyTooLong  = errors.New("the reply is longer than 16 MiB")
	errTooManyCalls  = errors.New("the reply asks for more than 128 tool calls")
)

// lineReader gives the lines of a stream without their ends (LF or CRLF). A last line without an end is a line too.
type lineReader struct {
	r     *bufio.Reader
	long  []byte // a line that did not fit the reader's buffer
	total int
	begun bool
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 4096)} }

// next returns a line that is valid until the following call.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.total += len(part)
		switch {
		case l.total > maxStream:
			return nil, errStreamTooLong
		case len(l.long)+len(part) > maxLine:
			return nil, errLineTooLong
		case err == bufio.ErrBufferFull:
			l.long = append(l.long, part...)
			continue
		case err != nil && (err != io.EOF || len(l.long)+len(part) == 0):
			return nil, err
		}
		if len(l.long) > 0 {
			l.long = append(l.long, part...)
			part = l.long
		}
		part = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
		if !l.begun {
			l.begun = true
			part = bytes.TrimPrefix(part, []byte("\xEF\xBB\xBF"))
		}
		return part, nil
	}
}

// event is one server-sent event: its name and its data. Data is valid until the following call.
type event struct {
	name string
	data []byte
}

// eventReader reads server-sent events (WHATWG HTML, 9.2) and is kind to servers that get them wrong: an event may end with the
// stream instead of a blank line, a data line that follows complete JSON starts an event of its own, and a bare JSON line is data.
type eventReader struct {
	lines *lineReader
	name  string
	data  []byte
	some  bool   // data holds an event's lines
	bare  bool   // they are JSON without a field name
	many  bool   // they are more than one line: not looked at again, which would cost their square
	next1 []byte // a line that belongs to the next event
	ended bool
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{lines: newLineReader(r)} }

func (s *eventReader) next() (event, error) {
	s.data, s.some = s.data[:0], false
	if s.next1 != nil {
		s.data, s.some, s.next1 = append(s.data, s.next1...), true, nil
	}
	for !s.ended {
		line, err := s.lines.next()
		if err == io.EOF {
			s.ended = true
			break
		}
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if s.some {
				return s.take(), nil
			}
			s.name = ""
			continue
		}
		if s.accept(line) {
			return s.take(), nil
		}
		if len(s.data) > maxLine {
			return event{}, errLineTooLong
		}
	}
	if s.some {
		return s.take(), nil
	}
	return event{}, io.EOF
}

// accept adds a line to the event; true says that the event before it is complete.
func (s *eventReader) accept(line []byte) bool {
	if line[0] == '{' || s.bare {
		s.bare = true
		return s.addData(line)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) { // "" is a comment: a keep-alive
	case "event":
		s.name = string(value)
	case "data":
		return s.addData(value)
	}
	return false
}

func (s *eventReader) addData(value []byte) bool {
	if s.some && !s.many && complete(s.data) {
		s.next1 = append([]byte{}, value...)
		return true
	}
	if s.some {
		s.many = true
		s.data = append(s.data, '\n')
	}
	s.data, s.some = append(s.data, value...), true
	return false
}

func (s *eventReader) take() event {
	e := event{name: s.name, data: s.data}
	s.name, s.some, s.bare, s.many = "", false, false, false
	return e
}

func complete(data []byte) bool { return isDone(data) || json.Valid(data) }

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

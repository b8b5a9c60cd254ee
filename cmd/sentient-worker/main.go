// Command sentient-worker is the child process that parses what other people made: PDF and Word files and web pages. It
// answers one request, then ends. It opens no file and no connection: the document comes open, the answer goes to stdout.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sentient/transport/worker"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] != worker.Command {
		fmt.Fprintln(os.Stderr, "sentient-worker is started by sentient; it does nothing by itself.")
		os.Exit(2)
	}
	limitSelf()
	if err := serve(os.Stdin, os.Stdout, func() *os.File { return os.NewFile(worker.DocumentFD, "document") }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers the one request on in.
func serve(in io.Reader, out io.Writer, document func() *os.File) error {
	r := bufio.NewReaderSize(in, 64<<10)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return errors.New("the request is not one line of at most 64 KB")
	}
	var req worker.Request
	if err := json.Unmarshal(line, &req); err != nil {
		return errors.New("the request is not JSON")
	}
	if req.Millis > 0 {
		defer time.AfterFunc(time.Duration(req.Millis)*time.Millisecond, func() { os.Exit(worker.ExitSlow) }).Stop()
	}
	res, err := answer(req, r, document)
	if err != nil {
		res = worker.Response{Error: err.Error(), Total: -1}
	}
	return json.NewEncoder(out).Encode(res)
}

func answer(req worker.Request, body io.Reader, document func() *os.File) (worker.Response, error) {
	switch req.Kind {
	case worker.KindPage:
		html, err := io.ReadAll(io.LimitReader(body, int64(min(max(req.Size, 0), worker.MaxPage))))
		if err != nil {
			return worker.Response{}, errors.New("the page did not arrive whole")
		}
		return readPage(html, req.URL, req.Limit)
	case worker.KindPDF, worker.KindDocx:
		f := document()
		st, err := f.Stat()
		if err != nil {
			return worker.Response{}, errors.New("the document did not arrive")
		}
		p := newPart(req.Offset, req.Limit)
		read := readPDF
		if req.Kind == worker.KindDocx {
			read = readDocx
		}
		if err := read(f, st.Size(), p); err != nil {
			return worker.Response{}, err
		}
		return p.response(), nil
	}
	return worker.Response{}, fmt.Errorf("documents of the kind %q cannot be read", req.Kind)
}

package edge

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"sentient/actors/msg"
	"sentient/storage/blob"
)

type fileRow struct {
	Name       string   `json:"name"`
	Size       int64    `json:"size"`
	MIME       string   `json:"mime"`
	ModifiedAt msg.Time `json:"modified_at"`
}

func (s *Server) files(*request) (any, error) {
	list, err := s.o.Files.List("")
	rows := make([]fileRow, 0, len(list))
	for _, f := range list {
		rows = append(rows, fileRow{f.Name, f.Size, f.MIME, msg.Time{Time: f.ModifiedAt}})
	}
	return rows, err
}

// upload streams the multipart field "file" into the files folder. The field "source" may come before or after it.
func (s *Server) upload(q *request) (any, error) {
	typ, params, err := mime.ParseMediaType(string(q.Request.Header.ContentType()))
	if err != nil || typ != "multipart/form-data" || params["boundary"] == "" {
		return nil, refuse(422, "Send the file as multipart/form-data, in the field file.")
	}
	stream := q.RequestBodyStream()
	if stream == nil {
		return nil, refuse(422, "The field file is missing.")
	}
	_ = q.SetReadDeadline(time.Now().Add(q.route.Timeout))
	limited := &limitedBody{r: stream, left: int64(q.route.Limit)}
	info, err := s.saveParts(multipart.NewReader(limited, params["boundary"]))
	if limited.over {
		err = errBodyBig
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"name": info.Name, "size": info.Size, "mime": info.MIME}, nil
}

// limitedBody ends a body that is longer than allowed with an error.
type limitedBody struct {
	r    io.Reader
	left int64
	over bool
}

func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		if n, err := l.r.Read(one[:]); n == 0 {
			return 0, err
		}
		l.over = true
		return 0, errBodyBig
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (s *Server) saveParts(parts *multipart.Reader) (blob.Info, error) {
	var saved blob.Info
	source := blob.SourceUpload
	used := source
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.dropUpload(saved, partError(err))
		}
		switch {
		case part.FormName() == "source":
			if source, err = readSource(part); err != nil {
				return s.dropUpload(saved, err)
			}
		case part.FormName() == "file" && saved.Name == "":
			used = source
			if saved, err = s.saveUpload(part, part.FileName(), source); err != nil {
				return s.dropUpload(saved, partError(err))
			}
		}
	}
	if saved.Name == "" {
		return saved, refuse(422, "The field file is missing.")
	}
	if used != source {
		return s.resave(saved, source)
	}
	return saved, nil
}

func (s *Server) saveUpload(r io.Reader, name string, source blob.Source) (blob.Info, error) {
	return s.o.Files.Upload(r, blob.Upload{Source: source, Name: name, Limit: int64(s.o.UploadLimit), Taken: s.o.Attached})
}

// resave gives a file whose source was only told after it the name that its source asks for.
func (s *Server) resave(saved blob.Info, source blob.Source) (blob.Info, error) {
	f, err := s.o.Files.Open(saved.Name)
	if err != nil {
		return blob.Info{}, err
	}
	info, err := s.saveUpload(f, path.Base(saved.Name), source)
	return info, errors.Join(err, f.Close(), s.o.Files.Delete(saved.Name))
}

func (s *Server) dropUpload(saved blob.Info, err error) (blob.Info, error) {
	if saved.Name != "" {
		err = errors.Join(err, s.o.Files.Delete(saved.Name))
	}
	return blob.Info{}, err
}

func readSource(r io.Reader) (blob.Source, error) {
	b, err := io.ReadAll(io.LimitReader(r, 64))
	if err != nil {
		return "", partError(err)
	}
	source := blob.Source(b)
	if !slices.Contains([]blob.Source{"", blob.SourceUpload, blob.SourceScreen, blob.SourceSelection}, source) {
		return "", refuse(422, "source must be upload, screen or selection.")
	}
	if source == "" {
		source = blob.SourceUpload
	}
	return source, nil
}

// partError tells the client's fault (a body that is cut or no multipart) from the store's.
func partError(err error) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return bodyError(err)
	case errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "multipart"):
		return refuse(400, "The upload ended early or is not valid multipart/form-data. Nothing was saved.")
	}
	return err
}

// shown are the types a browser may show; everything else is a download. Nothing among them can run a script.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "text/plain", "text/markdown", "text/csv",
	"application/pdf", "audio/", "video/"}

func contentHeaders(q *request, info blob.Info) {
	h := &q.Response.Header
	typ, _, _ := strings.Cut(info.MIME, ";")
	how := "attachment"
	if slices.ContainsFunc(shown, func(s string) bool { return typ == s || strings.HasSuffix(s, "/") && strings.HasPrefix(typ, s) }) {
		how = "inline"
	}
	base := path.Base(info.Name)
	h.Set(fasthttp.HeaderContentDisposition, how+`; filename="`+asciiName(base)+`"; filename*=UTF-8''`+strings.ReplaceAll(url.QueryEscape(base), "+", "%20"))
	h.Set(fasthttp.HeaderContentSecurityPolicy, "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'; frame-ancestors 'none'")
	h.Set(fasthttp.HeaderLastModified, info.ModifiedAt.UTC().Format(time.RFC1123[:len(time.RFC1123)-3]+"GMT"))
	q.SetContentType(info.MIME)
}

func asciiName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, s)
}

func (s *Server) fileContent(q *request) (any, error) {
	f, err := s.o.Files.Open(q.params[0])
	if err != nil {
		return nil, missingFile(err)
	}
	contentHeaders(q, f.Info)
	_ = q.SetWriteDeadline(time.Now().Add(s.o.WriteFor))
	q.SetBodyStream(&paced{ReadCloser: f, conn: q.Conn(), every: s.o.WriteFor}, int(f.Info.Size))
	return written, nil
}

// fileHead is fileContent without the bytes.
func (s *Server) fileHead(q *request) (any, error) {
	info, err := s.o.Files.Stat(q.params[0])
	if err != nil {
		return nil, missingFile(err)
	}
	contentHeaders(q, info)
	q.Response.SkipBody = true
	q.Response.Header.SetContentLength(int(info.Size))
	return written, nil
}

func (s *Server) deleteFile(q *request) (any, error) {
	return map[string]bool{"ok": true}, missingFile(s.o.Files.Delete(q.params[0]))
}

// missingFile: a name that can be no file's is a file that is not there.
func missingFile(err error) error {
	if errors.Is(err, blob.ErrName) {
		return errNoFile
	}
	return err
}

// paced gives a client a fresh deadline for each piece of a long answer, instead of one for all of it.
type paced struct {
	io.ReadCloser
	conn  net.Conn
	every time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.every))
	return n, err
}

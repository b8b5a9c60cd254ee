package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

const (
	maxBody      = 5 << 20 // bytes of a page, unpacked
	maxRedirects = 5
	fetchTime    = 20 * time.Second // for everything, from the lookup to the last byte
	maxTries     = 3                // of a host's addresses
	userAgent    = "Mozilla/5.0 (compatible; Sentient/1.0; personal assistant)"
)

// Resolver looks up a host's addresses; net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dial opens a connection to an IP address and port; net.Dialer's DialContext is one.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// errPlain is an error whose text may be shown as it is.
type errPlain string

func (e errPlain) Error() string { return string(e) }

// door is the one way out: it resolves a host once, checks every address of the answer, and dials an address it checked.
type door struct {
	resolver Resolver
	dial     Dial
	tls      *tls.Config
}

// connect is the DialContext of a client that only reaches public hosts.
func (d door) connect(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errPlain("this is not a web address")
	}
	if err := errors.Join(checkPort(port), checkHost(host)); err != nil {
		return nil, err
	}
	ips, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips[:min(len(ips), maxTries)] {
		var conn net.Conn
		if conn, err = d.dial(ctx, network, net.JoinHostPort(ip.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be reached: %w", host, err)
}

// lookup gives a host's addresses. One that is not public refuses them all: such an answer is a trick or a private host.
func (d door) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil // checked by checkHost
	}
	ips, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || len(ips) == 0 {
		return nil, errPlain("there is no website called " + host)
	}
	for _, ip := range ips {
		if !Public(ip) {
			return nil, ErrPrivate
		}
	}
	return ips, nil
}

// client makes an HTTP client for one request: no proxy, no cookies, no connection that outlives it.
func (d door) client(connect Dial, redirects bool) (*http.Client, func()) {
	t := &http.Transport{
		DialContext:            connect,
		TLSClientConfig:        d.tls,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 256 << 10,
	}
	c := &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if !redirects {
			return errPlain("the search server sends to another address: check its address in Settings > Integrations")
		}
		if len(via) > maxRedirects {
			return errPlain("this address sends from one place to the next without end")
		}
		req.Header.Del("Referer") // where we came from is nobody's business
		_, err := CheckURL(req.URL.String())
		return err
	}}
	return c, t.CloseIdleConnections
}

// document is an answer whose body was read as far as the limit.
type document struct {
	url   *url.URL // after redirects
	kind  string   // media type without parameters, lower case
	label string   // the whole Content-Type
	body  []byte
	cut   bool // the body goes on
}

// get loads an address. Every error is a plain sentence.
func (d door) get(ctx context.Context, u *url.URL, connect Dial, redirects bool) (document, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	c, closeIdle := d.client(connect, redirects)
	defer closeIdle()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return document{}, errPlain("this is not a web address")
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/json,text/*;q=0.9,application/xml;q=0.8,*/*;q=0.5")
	req.Header.Set("Accept-Language", "en;q=0.8,*;q=0.5")
	res, err := c.Do(req)
	if err != nil {
		return document{}, plain(ctx, err)
	}
	defer res.Body.Close()
	return read(ctx, res)
}

func read(ctx context.Context, res *http.Response) (document, error) {
	if res.StatusCode != http.StatusOK {
		return document{}, errPlain(fmt.Sprintf("%s answered %d (%s)", res.Request.URL.Host, res.StatusCode, strings.ToLower(http.StatusText(res.StatusCode))))
	}
	if packed := res.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return document{}, errPlain("the page is packed in a way that was not asked for")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	// What came of a page that broke off is still worth reading, but not of one that took too long.
	if err != nil && (ctx.Err() != nil || len(body) == 0) {
		return document{}, plain(ctx, err)
	}
	d := document{url: res.Request.URL, label: res.Header.Get("Content-Type"), body: body, cut: err != nil}
	if len(body) > maxBody {
		d.body, d.cut = body[:maxBody], true
	}
	if d.label == "" {
		d.label = http.DetectContentType(d.body)
	}
	if d.kind, _, err = mime.ParseMediaType(d.label); err != nil {
		d.kind, _, _ = strings.Cut(strings.ToLower(d.label), ";")
	}
	return d, nil
}

// plain turns an HTTP client's error into a sentence without the address, which may carry data.
func plain(ctx context.Context, err error) error {
	var said errPlain
	var dns *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errPlain(fmt.Sprintf("the page did not arrive within %d seconds", int(fetchTime.Seconds())))
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrPrivate):
		return ErrPrivate
	case errors.As(err, &said):
		return said
	case errors.As(err, &dns):
		return errPlain("there is no website of that name")
	}
	var bad *tls.CertificateVerificationError
	if errors.As(err, &bad) {
		return errPlain("the website's certificate is not valid, so it may not be the real one")
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("the page cannot be loaded: %w", err)
}

// utf8 gives the body in UTF-8, by its byte order mark, its label, or what the page itself says.
func (d document) utf8() []byte {
	r, err := charset.NewReader(bytes.NewReader(d.body), d.label)
	if err != nil {
		return bytes.ToValidUTF8(d.body, []byte("\uFFFD"))
	}
	out, err := io.ReadAll(io.LimitReader(r, 3*maxBody))
	if err != nil {
		return bytes.ToValidUTF8(d.body, []byte("\uFFFD"))
	}
	return bytes.ToValidUTF8(out, []byte("\uFFFD"))
}

package llm

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"sentient/actors/msg"
)

// Each file names its source, version, date and licence in its first lines.
var (
	//go:embed prices/tokenlens.tsv
	tokenlensList string
	//go:embed prices/newer.tsv
	newerList string
)

// listed is a model of the bundled list.
type listed struct {
	name    string // for people
	context int    // tokens it reads at once; 0 not known
	priced  bool
	price   tokenPrice
	above   int // prompts longer than this cost what long says; 0 never
	long    tokenPrice
}

// tokenPrice is what one token costs in trillionths of a US dollar: a thousandth of what amounts are counted in, because a
// price such as $0.0375 for a million tokens is 37.5 billionths a token.
type tokenPrice struct{ in, cached, write, out int64 }

const priceDigits = 6 // dollars for a million tokens with six decimals are trillionths a token

// catalog is parsed when a cloud model is first looked up, so a start costs nothing. It never changes.
var catalog = sync.OnceValue(func() map[string]listed {
	models := map[string]listed{}
	for _, list := range []string{tokenlensList, newerList} { // the later wins
		if err := readPrices(list, models); err != nil {
			panic(err) // the lists are part of the binary, and a test reads them
		}
	}
	return models
})

// readPrices adds the lines of a list; the error names a line that cannot be read.
func readPrices(list string, models map[string]listed) error {
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		id, m, err := readPrice(strings.Split(line, "\t"))
		if err != nil {
			return fmt.Errorf("price list, line %q: %w", line, err)
		}
		models[id] = m
	}
	return nil
}

func readPrice(f []string) (id string, m listed, err error) {
	if len(f) != 7 && len(f) != 12 || !strings.Contains(f[0], "/") || f[1] == "" {
		return "", m, fmt.Errorf("it needs an id, a name, 5 or 10 numbers")
	}
	m.name = f[1]
	if f[2] != "" {
		if m.context, err = strconv.Atoi(f[2]); err != nil || m.context < 0 {
			return "", m, fmt.Errorf("%q is no number of tokens", f[2])
		}
	}
	if m.priced = f[3] != ""; !m.priced {
		return f[0], m, nil
	}
	if m.price, err = readTokenPrice(f[3:7]); err != nil || len(f) == 7 {
		return f[0], m, err
	}
	if m.above, err = strconv.Atoi(f[7]); err != nil || m.above <= 0 {
		return "", m, fmt.Errorf("%q is no number of tokens", f[7])
	}
	m.long, err = readTokenPrice(f[8:12])
	return f[0], m, err
}

const dearest = 1e9 // trillionths a token: a thousand dollars for a million tokens

func readTokenPrice(f []string) (p tokenPrice, err error) {
	for i, into := range []*int64{&p.in, &p.cached, &p.write, &p.out} {
		n, ok := msg.ParseDecimal(f[i], priceDigits)
		if !ok || n > dearest {
			return p, fmt.Errorf("%q is no price", f[i])
		}
		*into = n
	}
	return p, nil
}

// mostTokens is more than any call has; it keeps a provider's nonsense from overflowing a price.
const mostTokens = 1e9

// cost is the price of a call, rounded once, half up.
func (m listed) cost(u msg.ModelUsage, written int) msg.USD {
	p := m.price
	if m.above > 0 && u.PromptTokens > m.above {
		p = m.long
	}
	sane := func(n int) int64 { return int64(min(max(0, n), mostTokens)) }
	cached, write := sane(u.CachedTokens), sane(written)
	fresh := max(0, sane(u.PromptTokens)-cached-write)
	sum := fresh*p.in + cached*p.cached + write*p.write + sane(u.CompletionTokens)*p.out
	return msg.USD((sum + 500) / 1000)
}

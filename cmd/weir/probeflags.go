package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/dialect"
	"weir/mark"
	"weir/probe"
	"weir/rig"
	"weir/stream"
)

// probeFlags are the flags of weir probe, as the user wrote them.
type probeFlags struct {
	n           int
	model       string
	prompt      string
	messages    string
	body        string
	headers     []string
	keyEnv      string
	maxTokens   int
	dialect     string
	http        string
	ws          bool
	connections string
	stream      string
	direct      []string
	useful      string
	marks       []string
	expect      stream.Expect
	labels      []string
	cacert      string
	insecure    bool
	compressed  bool
	timeout     time.Duration
	log         string
	keepText    bool
	output      string
	quiet       bool
}

func (f *probeFlags) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVarP(&f.n, "requests", "n", 5, "requests to send down each path")
	fl.StringVar(&f.model, "model", "", "model to ask for (default: the first of GET /v1/models)")
	fl.StringVar(&f.prompt, "prompt", "", "prompt (default: a short built-in question)")
	fl.StringVar(&f.messages, "messages", "", "`FILE` with a JSON array of {role, content} instead of a prompt")
	fl.StringVar(&f.body, "body", "", "`FILE` sent as the request body as it is")
	fl.StringArrayVarP(&f.headers, "header", "H", nil, "request header `'Name: value'`, repeatable")
	fl.StringVar(&f.keyEnv, "api-key-env", "", "environment `VAR` that holds the API key (default: WEIR_API_KEY, if set)")
	fl.IntVar(&f.maxTokens, "max-tokens", 200, "most tokens to answer with")
	fl.StringVar(&f.dialect, "dialect", "auto", "dialect `NAME|FILE.yaml`: auto, "+strings.Join(dialectNames(), ", ")+", or a file")
	fl.StringVar(&f.http, "http", "", "HTTP `1.1|2|h2c` (default: 1.1, or what TLS agrees on)")
	fl.BoolVar(&f.ws, "ws", false, "over the WebSocket of a weir gateway, /weir/ws at the URL's host, instead of HTTP")
	fl.StringVar(&f.connections, "connections", "reuse", "`fresh|reuse`: a new connection for each request, or one kept")
	fl.StringVar(&f.stream, "stream", "on", "`on|off|both`: ask for streams, whole answers, or each prompt both ways")
	fl.StringArrayVar(&f.direct, "direct", nil, "further path to the same service, `NAME=URL`, repeatable")
	fl.StringVar(&f.useful, "useful", "", "business `FIELDS` that make the answer useful once all are there, comma-separated")
	fl.StringArrayVar(&f.marks, "mark", nil, "mark the first event where an expression holds, `NAME=EXPR`, repeatable")
	fl.IntVar(&f.expect.Events, "expect-events", 0, "business events an answer should have at least")
	fl.IntVar(&f.expect.Chars, "expect-chars", 0, "characters an answer should have at least")
	fl.StringArrayVar(&f.labels, "label", nil, "label `k=v` kept with the records, repeatable")
	fl.StringVar(&f.cacert, "cacert", "", "PEM `FILE` of certificate authorities to trust besides the system's")
	fl.BoolVar(&f.insecure, "insecure", false, "do not verify the TLS certificate")
	fl.BoolVar(&f.compressed, "compressed", false, "accept gzip (default: identity, so that nothing saves up bytes to compress)")
	fl.DurationVar(&f.timeout, "timeout", 5*time.Minute, "total deadline of a request")
	fl.StringVar(&f.log, "log", "", "`DIR` to write the event log to, for weir analyze")
	fl.BoolVar(&f.keepText, "keep-text", false, "keep prompt and answer text in the log")
	fl.StringVarP(&f.output, "output", "o", "text", "`text|json`")
	fl.BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
}

func dialectNames() []string {
	var names []string
	for _, d := range dialect.All {
		names = append(names, d.Name())
	}
	return names
}

// plan checks the flags and makes them a plan. choices says in words what weir
// chose by itself.
func (f *probeFlags) plan(ctx context.Context, target string) (p rig.Plan, choices []string, err error) {
	if err := f.check(); err != nil {
		return p, nil, err
	}
	if p.Probe, err = f.options(); err != nil {
		return p, nil, err
	}
	if p.Ask, choices, err = f.ask(); err != nil {
		return p, nil, err
	}
	if p.Hops, err = f.hops(target); err != nil {
		return p, nil, err
	}
	if p.Marks, err = f.markSet(); err != nil {
		return p, nil, err
	}
	if p.Labels, err = pairs("label", f.labels); err != nil {
		return p, nil, err
	}
	if p.Ask.Model == "" && f.body == "" {
		tlsConfig := &tls.Config{RootCAs: pool(p.Probe.CACert), InsecureSkipVerify: f.insecure}
		ctx, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		model, why := rig.FirstModel(ctx, target, p.Ask.APIKey, p.Ask.Header, tlsConfig)
		if model == "" {
			model = "default"
		}
		p.Ask.Model = model
		choices = append(choices, fmt.Sprintf("model %s (%s)", model, why))
	}
	p.N, p.Mode, p.Expect = f.n, rig.Mode(f.stream), f.expect
	p.Run = rig.RunName("probe", time.Now())
	return p, choices, nil
}

func (f *probeFlags) check() error {
	if f.n < 1 || f.n > 10000 {
		return usagef("--requests %d: must be 1 to 10000", f.n)
	}
	if f.maxTokens < 1 {
		return usagef("--max-tokens %d: must be at least 1", f.maxTokens)
	}
	if f.timeout <= 0 {
		return usagef("--timeout %s: must be above 0", f.timeout)
	}
	if f.expect.Events < 0 || f.expect.Chars < 0 {
		return usagef("--expect-events, --expect-chars: must be 0 (no expectation) or more")
	}
	if f.ws && (f.http != "" || f.compressed) {
		return usagef("--ws: a WebSocket is neither --http %s nor --compressed", f.http)
	}
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--http", f.http, []string{"", "1.1", "2", "h2c"}},
		{"--connections", f.connections, []string{"fresh", "reuse"}},
		{"--stream", f.stream, []string{"on", "off", "both"}},
		{"--output", f.output, []string{"text", "json"}},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return usagef("%s %q: must be one of %s", c.flag, c.value, strings.TrimPrefix(strings.Join(c.allowed, ", "), ", "))
		}
	}
	return nil
}

func (f *probeFlags) options() (probe.Options, error) {
	if f.ws {
		f.http = "ws"
	}
	o := probe.Options{
		HTTP: f.http, Fresh: f.connections == "fresh", Insecure: f.insecure,
		Compressed: f.compressed, Timeout: f.timeout, KeepText: true,
	}
	if f.cacert != "" {
		pem, err := readFile(f.cacert)
		if err != nil {
			return o, usagef("--cacert: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return o, usagef("--cacert %s: holds no PEM certificate", f.cacert)
		}
		o.CACert = pem
	}
	if f.dialect != "auto" && f.dialect != "" {
		var err error
		if o.Dialect, err = namedDialect(f.dialect, ""); err != nil {
			return o, err
		}
	}
	return o, nil
}

func pool(pem []byte) *x509.CertPool {
	if len(pem) == 0 {
		return nil
	}
	p, err := x509.SystemCertPool()
	if err != nil {
		p = x509.NewCertPool()
	}
	p.AppendCertsFromPEM(pem)
	return p
}

// ask reads what is to be asked. The key's name is said, the key never.
func (f *probeFlags) ask() (a dialect.Ask, choices []string, err error) {
	a = dialect.Ask{Model: f.model, Prompt: f.prompt, MaxTokens: f.maxTokens, Header: http.Header{}}
	if f.messages != "" && f.body != "" || f.prompt != "" && (f.messages != "" || f.body != "") {
		return a, nil, usagef("--prompt, --messages and --body: give one of them")
	}
	if f.messages != "" {
		if err := readJSON(f.messages, &a.Messages); err != nil {
			return a, nil, usagef("--messages: %w", err)
		}
	}
	if f.body != "" {
		if a.Body, err = readFile(f.body); err != nil {
			return a, nil, usagef("--body: %w", err)
		}
	}
	if f.prompt == "" && f.messages == "" && f.body == "" {
		a.Prompt = dialect.DefaultPrompt
		choices = append(choices, fmt.Sprintf("prompt %q", dialect.DefaultPrompt))
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !validHeader(name, value) {
			return a, nil, usagef("--header: want 'Name: value' with a valid name and no control characters, header named %q", clip(name, 40))
		}
		a.Header.Add(name, value)
	}
	key, note, err := f.apiKey()
	if note != "" {
		choices = append(choices, note)
	}
	a.APIKey = key
	return a, choices, err
}

// validHeader refuses what would break out of a header line: a name must be a
// token (RFC 9110 §5.6.2), a value must hold no control character.
func validHeader(name, value string) bool {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) {
			return false
		}
	}
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return name != "" && !strings.ContainsFunc(value, control)
}

func (f *probeFlags) apiKey() (key, note string, err error) {
	if f.keyEnv != "" {
		key = os.Getenv(f.keyEnv)
		if key == "" {
			return "", "", usagef("--api-key-env %s: the variable is not set", clip(f.keyEnv, 40))
		}
		return key, "", nil
	}
	if key = os.Getenv("WEIR_API_KEY"); key != "" {
		return key, "API key from WEIR_API_KEY", nil
	}
	return "", "", nil
}

func (f *probeFlags) hops(target string) ([]rig.Hop, error) {
	hops := []rig.Hop{{URL: target}}
	for _, d := range f.direct {
		name, u, ok := strings.Cut(d, "=")
		if !ok || name == "" || strings.ContainsAny(name, ":/") {
			return nil, usagef("--direct %q: want NAME=URL", clip(d, 60))
		}
		hops = append(hops, rig.Hop{Name: name, URL: u})
	}
	for i, h := range hops {
		where := "URL"
		if i > 0 {
			where = "--direct " + h.Name
			if slices.ContainsFunc(hops[:i], func(o rig.Hop) bool { return o.Name == h.Name }) {
				return nil, usagef("%s: the name is given twice", where)
			}
		}
		if err := checkURL(h.URL); err != nil {
			return nil, usagef("%s: %w", where, err)
		}
		if f.http == "2" && !strings.HasPrefix(strings.ToLower(h.URL), "https:") {
			return nil, usagef("%s: --http 2 is chosen within TLS, and %s has none: use --http h2c, or https", where, probe.SafeURL(h.URL))
		}
	}
	return hops, nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	var parse *url.Error
	switch {
	case s == "":
		return errors.New("is empty; want http://HOST[:PORT][/PATH]")
	case errors.As(err, &parse):
		return fmt.Errorf("%s is malformed: %w; want http://HOST[:PORT][/PATH]", probe.SafeURL(s), parse.Err)
	case err != nil:
		return err
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: the scheme must be http or https, as in http://127.0.0.1:8000", probe.SafeURL(s))
	case u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("%s has no host", probe.SafeURL(s))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("%s: a port is 1 to 65535", probe.SafeURL(s))
		}
	}
	return nil
}

func (f *probeFlags) markSet() (*mark.Set, error) {
	var defs []mark.Def
	if f.useful != "" {
		d, err := mark.Useful(f.useful)
		if err != nil {
			return nil, usagef("--useful: %w", err)
		}
		defs = append(defs, d)
	}
	for _, m := range f.marks {
		name, expr, ok := strings.Cut(m, "=")
		if !ok || name == "" {
			return nil, usagef("--mark %q: want NAME=EXPR", clip(m, 60))
		}
		defs = append(defs, mark.Def{Name: strings.TrimSpace(name), Expr: expr})
	}
	if len(defs) == 0 {
		return nil, nil
	}
	set, err := mark.Compile(defs)
	if err != nil {
		return nil, usagef("--mark: %w", err)
	}
	return set, nil
}

func pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, l := range list {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, usagef("--%s %q: want k=v", flag, clip(l, 60))
		}
		m[k] = v
	}
	return m, nil
}

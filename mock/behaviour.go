package mock

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/stream"
)

// Behaviour is what one answer does. K of the fields counts output events
// (text, reasoning, tool) from 1; a missing K means "never".
type Behaviour struct {
	TTFT, Gap      Dist
	N              int
	TokensPerEvent int
	Lang           string
	Seed           uint64
	RoleAt         stream.Maybe[time.Duration]
	Reasoning      int // the first K outputs
	Tool           int // the last K outputs
	Queue          time.Duration
	Stages         []Stage
	Emits          []Emit
	States         []State

	HeartbeatEvery time.Duration
	Heartbeat      string // comment | event; "" = as the dialect does
	FlushBytes     int
	FlushEvery     time.Duration
	Gzip           string // "" | flush | buffer
	CRLF, NoSpace  bool
	Cut            string // "" | utf8 | crlf
	Usage          string // "" = as the dialect does | end | finish | every | none
	NoDone         bool
	NoFinish       bool
	NoBlank        bool

	TruncateAfter stream.Maybe[int]
	ResetAfter    stream.Maybe[int]
	ErrorAfter    stream.Maybe[int]
	HangAfter     stream.Maybe[int]
	StallAfter    stream.Maybe[int]
	Stall         time.Duration
	SeqHole       stream.Maybe[int]

	Error      string // "" | first200 | json200
	Status     int    // 0 or 200 = fine
	RetryAfter stream.Maybe[time.Duration]
}

// Stage is a pipeline phase before the first output.
type Stage struct {
	Name string
	Took time.Duration
}

// Emit is a named event sent before output K.
type Emit struct {
	Name string
	K    int
}

// State is a business state that output K carries.
type State struct {
	Key, Value string
	K          int
}

// Default is the behaviour when nothing is said: 50 events of one token, the
// first after 200 ms, then one each 20 ms.
func Default() Behaviour {
	return Behaviour{
		TTFT: Constant(200 * time.Millisecond), Gap: Constant(20 * time.Millisecond),
		N: 50, TokensPerEvent: 1, Lang: "en", Seed: 1, Stall: 3 * time.Second,
	}
}

// setting is one name=value and where it was said.
type setting struct{ name, value, where string }

// apply sets the behaviour's names in order: later ones win.
func (b *Behaviour) apply(settings []setting) error {
	for _, s := range settings {
		n, ok := lookupName(s.name)
		if !ok {
			return fmt.Errorf("unknown behaviour %q in the %s: known are %s", s.name, s.where, strings.Join(nameList(), ", "))
		}
		if err := n.set(b, s.value); err != nil {
			return fmt.Errorf("bad value of behaviour %s=%q in the %s: %w", s.name, s.value, s.where, err)
		}
	}
	return nil
}

// check refuses what cannot be true together.
func (b *Behaviour) check() error {
	if b.Reasoning+b.Tool > b.N {
		return fmt.Errorf("behaviour reasoning=%d and tool=%d: together more than n=%d outputs", b.Reasoning, b.Tool, b.N)
	}
	return nil
}

// parseList reads "ttft=200ms,n=10" or "ttft=200ms&n=10", as --set, the model
// name and the x-weir-mock header write it. A piece without "=" belongs to
// the value before it, so that lists such as stage=plan:1s,search:2s keep
// their commas. %XX is decoded.
func parseList(s, where string) ([]setting, error) {
	var out []setting
	for _, piece := range strings.FieldsFunc(s, func(r rune) bool { return r == '&' || r == ',' }) {
		piece, err := url.PathUnescape(strings.TrimSpace(piece))
		if err != nil {
			return nil, fmt.Errorf("the %s: %w", where, err)
		}
		name, value, isPair := strings.Cut(piece, "=")
		switch {
		case piece == "":
		case isPair:
			out = append(out, setting{name, value, where})
		case len(out) > 0 && (strings.ContainsAny(piece, ":@")):
			out[len(out)-1].value += "," + piece
		default:
			out = append(out, setting{name, "", where})
		}
	}
	return out, nil
}

// sdkQuery lists query names that official SDKs and services use for their own
// ends; they are not behaviours and are let through.
var sdkQuery = []string{"alt", "$alt", "key", "api-version", "beta", "prettyPrint", "fields", "access_token"}

// parseQuery takes the behaviours of a URL's query.
func parseQuery(raw string) ([]setting, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("the query cannot be read: " + err.Error())
	}
	var out []setting
	for name, vs := range values {
		if !slices.Contains(sdkQuery, name) {
			out = append(out, setting{name, vs[len(vs)-1], "query"})
		}
	}
	return out, nil
}

// modelSettings takes the behaviours of a model name such as
// "mock,ttft=200ms,n=10". Any other model name says nothing.
func modelSettings(model string) ([]setting, error) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(model, "models/"), "mock,")
	if !ok {
		return nil, nil
	}
	return parseList(rest, "model name")
}

package mock

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/stream"
)

// Name is one behaviour name: the contract of query, header, model and --set.
type Name struct {
	Name   string
	Syntax string // of the value
	Doc    string // one line; the default where it is not "off"
	set    func(b *Behaviour, v string) error
}

// Names is the table of every behaviour name, in the order help shows it.
var Names = []Name{
	{"ttft", "DIST", "from the request's receipt to the write of the first output event (200ms)", setDist(func(b *Behaviour) *Dist { return &b.TTFT })},
	{"gap", "DIST", "between outputs (20ms); DIST: 20ms, exp:20ms, normal:20ms:5ms, lognormal:20ms:0.5, uniform:10ms:30ms", setDist(func(b *Behaviour) *Dist { return &b.Gap })},
	{"n", "N", "output events: reasoning, text and tool together (50)", setInt(0, 10_000_000, func(b *Behaviour) *int { return &b.N })},
	{"tokens_per_event", "N", "tokens in each output event (1)", setInt(1, 10_000, func(b *Behaviour) *int { return &b.TokensPerEvent })},
	{"lang", "en|zh", "language of the text (en)", setOneOf(func(b *Behaviour) *string { return &b.Lang }, "en", "zh")},
	{"seed", "N", "chooses text and times; the same seed gives the same bytes (1)", setSeed},
	{"role_at", "DUR", "when the opening event without output leaves: role delta, message_start, response.created (with the first output)", setMaybeDuration(func(b *Behaviour) *stream.Maybe[time.Duration] { return &b.RoleAt })},
	{"reasoning", "K", "the first K outputs are reasoning", setInt(0, 10_000_000, func(b *Behaviour) *int { return &b.Reasoning })},
	{"tool", "K", "the last K outputs are pieces of a tool call", setInt(0, 10_000_000, func(b *Behaviour) *int { return &b.Tool })},
	{"queue", "DUR", "waits first, and says so where the dialect can; the first output is never before queue and stages", setDuration(func(b *Behaviour) *time.Duration { return &b.Queue })},
	{"stage", "NAME:DUR,...", "pipeline stages before the first output, one after the other, after the queue", setStages},
	{"emit", "NAME@K,...", "a named event before output K", setEmits},
	{"state", "KEY:VALUE@K,...", "business state that output K carries", setStates},
	{"heartbeat_every", "DUR", "a heartbeat each DUR", setPeriod(func(b *Behaviour) *time.Duration { return &b.HeartbeatEvery })},
	{"heartbeat", "comment|event", "its form (comment; anthropic and dify: event)", setOneOf(func(b *Behaviour) *string { return &b.Heartbeat }, "comment", "event")},
	{"flush_bytes", "N", "holds bytes until N are saved, as a relay that buffers by size", setInt(0, 1<<30, func(b *Behaviour) *int { return &b.FlushBytes })},
	{"flush_every", "DUR", "flushes at a period only, as a relay that buffers by time", setPeriod(func(b *Behaviour) *time.Duration { return &b.FlushEvery })},
	{"gzip", "flush|buffer", "compresses, if the client accepts gzip: flush after each event (also gzip=1), or let the compressor hold", setGzip},
	{"crlf", "1", "ends lines with CR LF", setBool(func(b *Behaviour) *bool { return &b.CRLF }, true)},
	{"nospace", "1", "no space after the colon of a field", setBool(func(b *Behaviour) *bool { return &b.NoSpace }, true)},
	{"cut", "utf8|crlf", "cuts each event's write inside a character, or between CR and LF (then lines end so)", setOneOf(func(b *Behaviour) *string { return &b.Cut }, "utf8", "crlf")},
	{"usage", "end|finish|every|none", "where token accounting stands (as the dialect does; openai.chat: end, if asked for)", setOneOf(func(b *Behaviour) *string { return &b.Usage }, "end", "finish", "every", "none")},
	{"done", "0", "leaves out the terminal event or sentinel", setBool(func(b *Behaviour) *bool { return &b.NoDone }, false)},
	{"finish", "0", "leaves out the finish reason", setBool(func(b *Behaviour) *bool { return &b.NoFinish }, false)},
	{"blank", "0", "leaves out the blank line (NDJSON: the line end) after the last event", setBool(func(b *Behaviour) *bool { return &b.NoBlank }, false)},
	{"truncate_after", "K", "ends the body cleanly after output K, without any end mark", setMaybeInt(func(b *Behaviour) *stream.Maybe[int] { return &b.TruncateAfter })},
	{"reset_after", "K", "breaks the connection after output K: TCP RST, RST_STREAM on HTTP/2", setMaybeInt(func(b *Behaviour) *stream.Maybe[int] { return &b.ResetAfter })},
	{"error_after", "K", "sends an in-band error after output K and ends", setMaybeInt(func(b *Behaviour) *stream.Maybe[int] { return &b.ErrorAfter })},
	{"hang_after", "K", "goes silent after output K until the client leaves", setMaybeInt(func(b *Behaviour) *stream.Maybe[int] { return &b.HangAfter })},
	{"stall_after", "K", "one pause of stall=DUR after output K", setMaybeInt(func(b *Behaviour) *stream.Maybe[int] { return &b.StallAfter })},
	{"stall", "DUR", "length of that pause, on top of the gap (3s)", setDuration(func(b *Behaviour) *time.Duration { return &b.Stall })},
	{"seq_hole", "K", "output K skips a sequence number, in dialects that have them (openai.responses, article)", setMaybeInt(func(b *Behaviour) *stream.Maybe[int] { return &b.SeqHole })},
	{"error", "first200|json200", "HTTP 200 and an error: as the first event of a stream, or as a JSON body", setOneOf(func(b *Behaviour) *string { return &b.Error }, "first200", "json200")},
	{"status", "CODE", "answers with this HTTP status (400 to 599) and the dialect's error body", setStatus},
	{"retry_after", "DUR|SECONDS", "Retry-After header of that answer", setRetryAfter},
}

func lookupName(name string) (Name, bool) {
	i := slices.IndexFunc(Names, func(n Name) bool { return n.Name == name })
	if i < 0 {
		return Name{}, false
	}
	return Names[i], true
}

func nameList() []string {
	out := make([]string, len(Names))
	for i, n := range Names {
		out[i] = n.Name
	}
	return out
}

// Help is the table of the names as text, lines of at most 100 columns.
func Help() string {
	const indent, width = 32, 100
	var sb strings.Builder
	for _, n := range Names {
		left := "  " + n.Name + "=" + n.Syntax
		fmt.Fprintf(&sb, "%-*s", indent, left)
		column := indent
		for _, word := range strings.Fields(n.Doc) {
			if column+1+len(word) > width {
				fmt.Fprintf(&sb, "\n%*s", indent, "")
				column = indent
			}
			sb.WriteString(" " + word)
			column += 1 + len(word)
		}
		sb.WriteByte('\n')
	}
	return sb.String()
}

type setter = func(b *Behaviour, v string) error

func setDist(f func(*Behaviour) *Dist) setter {
	return func(b *Behaviour, v string) (err error) { *f(b), err = ParseDist(v); return err }
}

func setDuration(f func(*Behaviour) *time.Duration) setter {
	return func(b *Behaviour, v string) (err error) { *f(b), err = parseDuration(v); return err }
}

// setPeriod reads 0 (off) or at least a millisecond: a shorter period would be
// all that the server does.
func setPeriod(f func(*Behaviour) *time.Duration) setter {
	return func(b *Behaviour, v string) error {
		d, err := parseDuration(v)
		if err == nil && d > 0 && d < time.Millisecond {
			return fmt.Errorf("%s is below 1ms", v)
		}
		*f(b) = d
		return err
	}
}

func setMaybeDuration(f func(*Behaviour) *stream.Maybe[time.Duration]) setter {
	return func(b *Behaviour, v string) error {
		d, err := parseDuration(v)
		*f(b) = stream.Some(d)
		return err
	}
}

func setInt(lo, hi int, f func(*Behaviour) *int) setter {
	return func(b *Behaviour, v string) (err error) { *f(b), err = parseInt(v, lo, hi); return err }
}

func setMaybeInt(f func(*Behaviour) *stream.Maybe[int]) setter {
	return func(b *Behaviour, v string) error {
		k, err := parseInt(v, 0, 10_000_000)
		*f(b) = stream.Some(k)
		return err
	}
}

func setOneOf(f func(*Behaviour) *string, allowed ...string) setter {
	return func(b *Behaviour, v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("want one of %s", strings.Join(allowed, ", "))
		}
		*f(b) = v
		return nil
	}
}

// setBool sets the field to on where the value is true, to !on where it is
// false: done=0 sets NoDone.
func setBool(f func(*Behaviour) *bool, on bool) setter {
	return func(b *Behaviour, v string) error {
		yes, err := strconv.ParseBool(v)
		if v == "" {
			yes, err = true, nil
		}
		if err != nil {
			return errors.New("want 1 or 0")
		}
		*f(b) = yes == on
		return nil
	}
}

func setSeed(b *Behaviour, v string) (err error) {
	if b.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
		return errors.New("want a whole number from 0 to 2^64-1")
	}
	return nil
}

func setGzip(b *Behaviour, v string) error {
	forms := map[string]string{"flush": "flush", "buffer": "buffer", "1": "flush", "true": "flush", "": "flush", "0": "", "false": ""}
	form, ok := forms[v]
	if !ok {
		return errors.New("want flush (or 1), buffer, or 0")
	}
	b.Gzip = form
	return nil
}

func setStatus(b *Behaviour, v string) error {
	code, err := parseInt(v, 200, 599)
	if err != nil || (code != 200 && code < 400) {
		return errors.New("want 200, or an error from 400 to 599")
	}
	b.Status = code
	return nil
}

func setRetryAfter(b *Behaviour, v string) error {
	if s, err := parseInt(v, 0, 86_400); err == nil {
		b.RetryAfter = stream.Some(time.Duration(s) * time.Second)
		return nil
	}
	d, err := parseDuration(v)
	b.RetryAfter = stream.Some(d)
	return err
}

func setStages(b *Behaviour, v string) error {
	b.Stages = nil
	return eachItem(v, func(item string) error {
		name, dur, ok := strings.Cut(item, ":")
		if !ok || !validName(name) {
			return fmt.Errorf("%q: want NAME:DUR", item)
		}
		d, err := parseDuration(dur)
		b.Stages = append(b.Stages, Stage{name, d})
		return err
	})
}

func setEmits(b *Behaviour, v string) error {
	b.Emits = nil
	return eachItem(v, func(item string) error {
		name, k, err := cutK(item)
		if err != nil || !validName(name) {
			return fmt.Errorf("%q: want NAME@K with K from 1", item)
		}
		b.Emits = append(b.Emits, Emit{name, k})
		return nil
	})
}

func setStates(b *Behaviour, v string) error {
	b.States = nil
	return eachItem(v, func(item string) error {
		pair, k, err := cutK(item)
		key, value, ok := strings.Cut(pair, ":")
		if err != nil || !ok || key == "" {
			return fmt.Errorf("%q: want KEY:VALUE@K with K from 1", item)
		}
		b.States = append(b.States, State{key, value, k})
		return nil
	})
}

func eachItem(list string, f func(string) error) error {
	for item := range strings.SplitSeq(list, ",") {
		if err := f(item); err != nil {
			return err
		}
	}
	return nil
}

// cutK cuts "NAME@K" at its last @.
func cutK(item string) (string, int, error) {
	i := strings.LastIndexByte(item, '@')
	if i < 0 {
		return "", 0, errors.New("no @K")
	}
	k, err := parseInt(item[i+1:], 1, 10_000_000)
	return item[:i], k, err
}

// validName keeps names that any framing can carry.
func validName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "\r\n\x00\":,\\")
}

func parseInt(v string, lo, hi int) (int, error) {
	i, err := strconv.Atoi(v)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", v)
	}
	if i < lo || i > hi {
		return 0, fmt.Errorf("%d is out of range %d to %d", i, lo, hi)
	}
	return i, nil
}

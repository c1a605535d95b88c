// Package eventlog keeps records as lines of JSON and gives them back: what
// was measured once can be measured again, later, under the same or a newer
// definition.
//
// A log is a file events/YYYY-MM-DD/<run>.jsonl (or .jsonl.zst), one object a
// line. A record's lines stand together: one "request" line (when, where, how
// it was asked, phases, response facts), a line per event, one "end" line (how
// it ended, and the reads and arrivals that rhythm is made of). Durations are
// milliseconds since the request's start, written as exact decimals; only
// client_time_ms is rounded to the microsecond, and its read (or at_ns) gives
// the rest back.
//
// The package also reads logs it did not write: lines with only request_id,
// event_type and client_time_ms, as in the article's sample. Such a log has no
// start, no reads and, unless it holds a done or error event, no outcome.
//
// It refuses to write what need not be kept: prompt, answer text and business
// state only with Options.KeepText, request headers never. It refuses to
// guess: a file that is no log is an error naming file and line, and only a
// line cut short by a crash is skipped, and reported.
package eventlog

// Version is the version of the log's own format, on every request line.
const Version = 1

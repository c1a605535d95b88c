// Package metric is the ruler: it turns one Record into named numbers, each
// defined once, in the table All, with its unit, its direction and the
// sentence that defines it. Everything that shows, stores, gates or compares a
// number takes it from here.
//
// Measuring is a pure function of the record, so a saved log can be measured
// again later. The package refuses to guess: a number that cannot be known is
// Missing, never 0; a mark the stream did not reach is Never if it failed by
// itself and Over its elapsed time if we cut it (METRICS §8.2); a chunk is
// never a token; the time inside one arrival is unknown.
//
// Choices made where METRICS leaves room:
//
//   - A gap holds a stage event if one stands between its two business events
//     in the order of arrival, and holds a tool event if a tool call begins or
//     ends in it (exactly one of its two ends is a tool event). The pieces of
//     one tool call keep an ordinary rhythm.
//   - An open gap counts among the gaps of stall_rate, above and below the
//     line, so that the rate stays a share.
//   - The rhythm (METRICS §6) is that of the whole stream, voided attempts
//     included, because the reader saw them; sizes and rates (§5) are the last
//     attempt's.
//   - unaccounted starts at t0, not at the schedule: lateness is the
//     generator's, not a stage of the service.
//   - rate_stream needs T > k1 only where k1 is known; with two arrivals an
//     unknown k1 is below T by itself.
//   - usage of a request with several choices is theirs together, so it is no
//     answer's T.
package metric

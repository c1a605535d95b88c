// Package sqlite is the store that needs nothing installed: one file, weir.db,
// which every tool that reads SQLite can query. The table rows has a row per
// request and a REAL column per metric of metric.All, called as in JSON; the
// table runs has a row per run; the view article_metrics has the columns of
// the article that weir began with.
//
// A metric's column is NULL where there is no number. Why is in the column
// states, a JSON object with only those that were not reached:
// {"useful_ms":"never","complete_ms":{"over":5000}}; what is in neither is
// missing. A column per state would double the width of a table that is NULL
// in most of it. Stages and marks, whose names come from the stream, are in
// the JSON column dynamic, as "stage.prefill" and "mark.handoff"; labels in
// the JSON column labels.
//
// Migration is generated, not written: a metric that metric.All has and the
// file has not is a column added when the file is next opened for writing. A
// migration tool such as goose was considered and left out: it keeps a list of
// hand-written steps, and each new metric would need one, in each store. What
// cannot be made by adding is numbered by the file's user_version; a file of a
// higher number is refused. Reading never migrates: a file that lacks a metric
// gives rows that lack it.
//
// The file is in WAL mode: one process writes while others read, and writers
// of several processes take turns (busy_timeout). It refuses to be put on a
// network file system knowingly: WAL needs shared memory, and SQLite says so.
// A transaction is durable against a crash of weir; a power cut may lose the
// last of them, never damage the file (synchronous=NORMAL).
package sqlite

package redis

import (
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// What a script answers beside the number of the newest entry.
const (
	saidOK     = "ok"
	saidGone   = "gone"   // no such stream: expired, evicted, flushed
	saidFenced = "fenced" // another generation has the name
	saidBehind = "behind" // an entry is missing before these
	saidEnded  = "ended"
	saidExists = "exists"
)

// Fields of a stream's hash.
const (
	fieldEpoch  = "e"
	fieldHead   = "h"
	fieldOwner  = "o" // instance
	fieldNewest = "n" // offset
	fieldFirst  = "f" // offset of the newest entry not kept any more
	fieldEnded  = "t"
	fieldBehind = "b" // its writer may be ahead of what is here
)

// Fields of an entry.
const (
	entryData     = "d"
	entryTerminal = "t"
)

// appendScript adds a batch of entries, and makes the stream where it is told
// to. Entries that are there already are passed over: the same batch may come
// twice. An empty Redis stream stands for one without entries, so that a stream
// whose key is missing was evicted.
//
// KEYS: hash, stream. ARGV: epoch, offset of the first entry, offset of the
// newest not kept, ttl in ms (0 = as it is), whether the last is terminal, channel
// ("" = ring no bell), mode (a: append; o: open; r: open over an own one), owner,
// head, behind; then the frames. A frame that is not kept comes empty.
const appendScript = `
local meta, log = KEYS[1], KEYS[2]
local epoch, from, first = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local mode = ARGV[7]
local function num(n) return string.format('%.0f', n) end
local h = redis.call('HMGET', meta, 'e', 'n', 'f', 't', 'o')
if mode ~= 'a' and h[1] ~= epoch then
  if h[1] and (mode ~= 'r' or h[5] ~= ARGV[8]) then return {'exists', 0} end
  if h[5] and h[5] ~= ARGV[8] then return {'exists', 0} end
  redis.call('DEL', meta, log)
  redis.call('HSET', meta, 'e', epoch, 'o', ARGV[8], 'h', ARGV[9], 'n', num(from - 1), 'f', num(from - 1))
  if ARGV[10] ~= '' then redis.call('HSET', meta, 'b', '1') end
  redis.call('XADD', log, 'MAXLEN', '=', 0, '1-0', 'd', '')
  h = {epoch, num(from - 1), num(from - 1), false}
end
if not h[1] then return {'gone', 0} end
if h[1] ~= epoch then return {'fenced', 0} end
local n, f = tonumber(h[2]), tonumber(h[3])
local last = from + #ARGV - 11
if last <= n and (#ARGV > 10 or h[4]) then return {'ok', n} end
if h[4] then return {'ended', n} end
if from > n + 1 and first < from - 1 then return {'behind', n} end
local new = math.max(from, n + 1)
local size, body = 0, {}
for i = 11, #ARGV do
  local o = from + i - 11
  if o > n then
    local field = 'd'
    if o == last and ARGV[5] == '1' then field = 't' end
    if not redis.call('XADD', log, 'NOMKSTREAM', '1-' .. num(o), field, ARGV[i]) then
      redis.call('DEL', meta)
      return {'gone', 0}
    end
    size = size + #ARGV[i]
    body[#body + 1] = #ARGV[i] .. ':' .. ARGV[i]
  end
end
n = math.max(n, last)
local set = {'n', num(n)}
if first > f then
  redis.call('XTRIM', log, 'MINID', '=', '1-' .. num(first + 1))
  set[3], set[4] = 'f', num(first)
end
if ARGV[5] == '1' then set[#set + 1] = 't'; set[#set + 1] = '1' end
redis.call('HSET', meta, unpack(set))
if ARGV[4] ~= '0' then
  redis.call('PEXPIRE', meta, ARGV[4])
  redis.call('PEXPIRE', log, ARGV[4])
end
if ARGV[6] ~= '' then
  local bell = epoch .. ' ' .. num(new) .. ' ' .. num(n) .. ' ' .. ARGV[5] .. '\n'
  if first < new and size <= 16384 then bell = bell .. table.concat(body) end
  redis.call('PUBLISH', ARGV[6], bell)
end
return {'ok', n}
`

// appending is that script with its hash.
var appending = goredis.NewScript(appendScript)

// bell is what is published with a batch: its epoch, its first and last entry,
// whether that one is terminal, and the frames where they are small.
type bell struct {
	epoch    string
	from, to int64
	terminal bool
	frames   [][]byte // of from … to; empty: they have to be read
}

// dropped is published where a stream was dropped.
const dropped = "-"

// parseBell reads a bell; ok is false for what is none.
func parseBell(s string) (b bell, ok bool) {
	line, body, ok := strings.Cut(s, "\n")
	f := strings.Split(line, " ")
	if !ok || len(f) != 4 {
		return b, false
	}
	var err, err2 error
	b.epoch = f[0]
	b.from, err = strconv.ParseInt(f[1], 10, 64)
	b.to, err2 = strconv.ParseInt(f[2], 10, 64)
	b.terminal = f[3] == "1"
	if err != nil || err2 != nil {
		return b, false
	}
	for body != "" {
		size, rest, _ := strings.Cut(body, ":")
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > len(rest) {
			return b, false
		}
		b.frames = append(b.frames, []byte(rest[:n]))
		body = rest[n:]
	}
	if len(b.frames) > 0 && int64(len(b.frames)) != b.to-b.from+1 {
		return b, false
	}
	return b, true
}

// meta is a stream's hash, as read.
type meta struct {
	relay.State
	owner  string
	behind bool
	there  bool
}

// metaFields are what readMeta reads, in its order.
func metaFields() []string {
	return []string{fieldEpoch, fieldNewest, fieldFirst, fieldEnded, fieldOwner, fieldBehind, fieldHead}
}

// readMeta makes a meta of an HMGET of metaFields.
func readMeta(v []any) (m meta) {
	text := func(i int) string {
		if i >= len(v) {
			return ""
		}
		s, _ := v[i].(string)
		return s
	}
	epoch := text(0)
	n, err := strconv.ParseInt(text(1), 10, 64)
	f, err2 := strconv.ParseInt(text(2), 10, 64)
	m.owner, m.behind, m.Head = text(4), text(5) != "", []byte(text(6))
	if epoch == "" || err != nil || err2 != nil {
		return m
	}
	m.there, m.Ended = true, text(3) != ""
	m.First, m.Last = relay.Position{Epoch: epoch, Offset: f}, relay.Position{Epoch: epoch, Offset: n}
	return m
}

// readEntries makes entries of a Redis stream's messages.
func readEntries(epoch string, messages []goredis.XMessage) []relay.Entry {
	entries := make([]relay.Entry, 0, len(messages))
	for _, m := range messages {
		_, id, _ := strings.Cut(m.ID, "-")
		offset, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			break // not ours: what follows is missing
		}
		e := relay.Entry{Position: relay.Position{Epoch: epoch, Offset: offset}}
		frame, ok := m.Values[entryData].(string)
		if !ok {
			frame, e.Terminal = m.Values[entryTerminal].(string)
		}
		e.Frame = []byte(frame)
		entries = append(entries, e)
	}
	return entries
}

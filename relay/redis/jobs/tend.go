package jobs

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// renewScript renews what is still this worker's, and answers what is another's
// and what is nobody's though its queue was not lost.
//
// KEYS: queue, era. ARGV: group, worker, then each job and its era.
const renewScript = `
local others, nobodys, era = {}, {}, redis.call('GET', KEYS[2])
for i = 3, #ARGV, 2 do
  local p = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
  if type(p) == 'table' and not p.err then
    if p[1] and p[1][2] == ARGV[2] then
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
    elseif p[1] then
      others[#others + 1] = ARGV[i]
    elseif ARGV[i + 1] == era then
      nobodys[#nobodys + 1] = ARGV[i]
    end
  end
end
return {others, nobodys}
`

// takeScript takes what was not renewed for a lease, once workers have ticked
// for as long without a hole: after a Redis that was away, hung or had its clock
// set, everybody's jobs look like that, and their workers need a moment. It is
// told by Redis' own clock and in Redis, where a command may arrive late.
//
// KEYS: queue, pulse, era. ARGV: group, worker, lease in ms, most jobs. It
// answers the era, and of each job its id, its fields and how often it was taken.
const takeScript = `
local t, lease = redis.call('TIME'), tonumber(ARGV[3])
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local h = redis.call('HMGET', KEYS[2], 'last', 'since')
local last, since = tonumber(h[1]), tonumber(h[2])
if not last or not since or now < last or now - last > lease * 2 / 3 then since = now end
redis.call('HSET', KEYS[2], 'last', string.format('%.0f', now), 'since', string.format('%.0f', since))
redis.call('PEXPIRE', KEYS[2], 10 * lease)
local jobs, era = {}, redis.call('GET', KEYS[3]) or ''
if now - since < lease or ARGV[4] == '0' then return {era, jobs} end
local found = redis.pcall('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], lease, '0', 'COUNT', ARGV[4])
if type(found) ~= 'table' or found.err then return {era, jobs} end
for _, m in ipairs(found[2]) do
  if m and m[2] then -- Redis before 7 names trimmed ones too
    local p = redis.call('XPENDING', KEYS[1], ARGV[1], m[1], m[1], 1)
    jobs[#jobs + 1] = {m[1], m[2], p[1] and p[1][4] or 2}
  end
end
return {era, jobs}
`

var (
	renewing = goredis.NewScript(renewScript) //nolint:gochecknoglobals // a constant in all but syntax
	taking   = goredis.NewScript(takeScript)  //nolint:gochecknoglobals // a constant in all but syntax
)

// tend renews the jobs of this worker and takes over those of others, a few
// times per lease.
func (w *Worker) tend() {
	tick := time.NewTicker(w.q.o.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
		if !w.q.log.Up() {
			continue
		}
		w.renew()
		w.takeOver()
		if waiting, _, err := w.q.Depth(w.ctx); err == nil {
			w.q.o.Observer.Jobs(waiting, w.Running())
		}
	}
}

func (w *Worker) renew() {
	args := []any{group, w.q.log.Instance()}
	w.mu.Lock()
	for id, j := range w.jobs {
		args = append(args, id, j.era)
	}
	w.mu.Unlock()
	if len(args) == 2 {
		return
	}
	said, err := renewing.Run(w.ctx, w.q.log.Client(), []string{w.q.key, w.q.era}, args...).Slice()
	if w.q.log.Failed(w.ctx, err) != nil || len(said) != 2 {
		return
	}
	for _, id := range texts(said[0]) {
		w.fence(id)
	}
	for _, id := range texts(said[1]) {
		if !w.stillOurs(id) {
			w.fence(id)
		}
	}
}

// fence ends a job that is another's.
func (w *Worker) fence(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j, ok := w.jobs[id]; ok {
		j.fence(relay.ErrFenced)
	}
}

// stillOurs reports whether the log knows this worker as the writer of a job that
// is nobody's in the queue: its entry was trimmed. Otherwise another was here and
// did it.
func (w *Worker) stillOurs(id string) bool {
	w.mu.Lock()
	stream := w.jobs[id].stream
	w.mu.Unlock()
	owner, err := w.q.log.Owner(w.ctx, stream)
	if err != nil && !errors.Is(err, relay.ErrPending) {
		return errors.Is(err, relay.ErrDown) // it is not known
	}
	state, err := w.q.log.Stat(w.ctx, stream)
	return owner == w.q.log.Instance() && (err != nil || !state.Ended)
}

// takeOver takes what was not renewed for a lease, where there is place and
// nothing is drained; otherwise it only says that this worker ticks.
func (w *Worker) takeOver() {
	n, _ := w.free()
	if w.taking.Err() != nil {
		n = 0
	}
	said, err := taking.Run(w.ctx, w.q.log.Client(), []string{w.q.key, w.q.pulse, w.q.era},
		group, w.q.log.Instance(), w.q.o.Lease.Milliseconds(), max(min(n, mostAtOnce), 0)).Slice()
	if w.q.log.Failed(w.ctx, err) != nil || len(said) != 2 {
		return
	}
	if era := text(said[0]); era != "" {
		w.mu.Lock()
		w.era = era
		w.mu.Unlock()
	}
	found, _ := said[1].([]any)
	for _, f := range found {
		job, _ := f.([]any)
		if len(job) != 3 {
			continue
		}
		m := goredis.XMessage{ID: text(job[0]), Values: map[string]any{}}
		fields := texts(job[1])
		for i := 0; i+1 < len(fields); i += 2 {
			m.Values[fields[i]] = fields[i+1]
		}
		runs, _ := job[2].(int64)
		w.begin(m, int(runs))
	}
}

// texts are the texts of a script's list.
func texts(v any) []string {
	list, _ := v.([]any)
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = text(v)
	}
	return all
}

// partScript takes a worker's name out of the group, unless it has jobs that it
// does not know of: with the name they would be nobody's for ever.
//
// KEYS: queue. ARGV: group, worker.
const partScript = `
local p = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if type(p) == 'table' and not p.err and not p[1] then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
return ''
`

// sweepScript does the same for those that were not seen for long: the names of
// workers that were killed.
//
// KEYS: queue. ARGV: group, how long in ms.
const sweepScript = `
local all = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if type(all) ~= 'table' or all.err then return 0 end
local n = 0
for _, c in ipairs(all) do
  local f = {}
  for i = 1, #c, 2 do f[c[i]] = c[i + 1] end
  if f.pending == 0 and f.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], f.name)
    n = n + 1
  end
end
return n
`

var (
	parting  = goredis.NewScript(partScript)  //nolint:gochecknoglobals // a constant in all but syntax
	sweeping = goredis.NewScript(sweepScript) //nolint:gochecknoglobals // a constant in all but syntax
)

// unseen is after how long a name without jobs goes. One that lives after all
// comes back with its next job.
const unseen = time.Hour

// sweep takes the names out of the group that have no jobs and were not seen for
// so long.
func (q *Queue) sweep(ctx context.Context, idle time.Duration) error {
	return q.log.Failed(ctx, sweeping.Run(ctx, q.log.Client(), []string{q.key}, group, idle.Milliseconds()).Err())
}

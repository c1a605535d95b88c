package jobs

import (
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// renewScript renews what is still this worker's and answers what is another's.
// A job that is nobody's was done by another, unless it was lost with its queue:
// then nobody can take it over.
//
// KEYS: queue, era. ARGV: group, worker, then each job and its era.
const renewScript = `
local others, era = {}, redis.call('GET', KEYS[2])
for i = 3, #ARGV, 2 do
  local p = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
  if type(p) == 'table' and not p.err then
    if p[1] and p[1][2] == ARGV[2] then
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
    elseif p[1] or ARGV[i + 1] == era then
      others[#others + 1] = ARGV[i]
    end
  end
end
return others
`

var renewing = goredis.NewScript(renewScript) //nolint:gochecknoglobals // a constant in all but syntax

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
		if w.taking.Err() == nil {
			w.takeOver()
		}
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
	others, err := renewing.Run(w.ctx, w.q.log.Client(), []string{w.q.key, w.q.era}, args...).StringSlice()
	if w.q.log.Failed(w.ctx, err) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range others {
		if j, ok := w.jobs[id]; ok {
			j.fence(relay.ErrFenced)
		}
	}
}

// takeOver takes what was not renewed for a lease.
func (w *Worker) takeOver() {
	n, _ := w.free()
	if n <= 0 {
		return
	}
	c := w.q.log.Client()
	found, _, err := c.XAutoClaim(w.ctx, &goredis.XAutoClaimArgs{Stream: w.q.key, Group: group, Consumer: w.q.log.Instance(),
		MinIdle: w.q.o.Lease, Start: "0", Count: int64(min(n, mostAtOnce))}).Result()
	if err != nil {
		if !goredis.HasErrorPrefix(err, "NOGROUP") {
			_ = w.q.log.Failed(w.ctx, err)
		}
		return
	}
	for _, m := range found {
		p, err := c.XPendingExt(w.ctx, &goredis.XPendingExtArgs{Stream: w.q.key, Group: group, Start: m.ID, End: m.ID, Count: 1}).Result()
		runs := 2
		if err == nil && len(p) == 1 {
			runs = int(p[0].RetryCount)
		}
		w.begin(m, runs)
	}
}

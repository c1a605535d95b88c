package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
	"weir/relay/redis"
	"weir/stream"
)

// Options are the bounds of a queue; 0 is the default.
type Options struct {
	Waiting  int           // most jobs that wait for a worker; 0 = 1,000
	Places   int           // most jobs of one worker at a time; 0 = 500
	Lease    time.Duration // how long a job is its worker's without renewal; 0 = 3 s
	Observer Observer      // nil: nobody counts
}

// Observer is told what happens, to count it. Its methods must not wait.
type Observer interface {
	// JobTaken: this worker has a job that waited so long; over: another had it.
	JobTaken(waited stream.Maybe[time.Duration], over bool)
	// JobDropped: a job left the queue without being run: gone, ended, lost.
	JobDropped(reason string)
	// Jobs: so many wait for a worker, so many run here.
	Jobs(waiting int64, running int)
}

type nobody struct{}

func (nobody) JobTaken(stream.Maybe[time.Duration], bool) {}
func (nobody) JobDropped(string)                          {}
func (nobody) Jobs(int64, int)                            {}

func (o Options) filled() Options {
	if o.Waiting <= 0 {
		o.Waiting = 1000
	}
	if o.Places <= 0 {
		o.Places = 500
	}
	if o.Lease <= 0 {
		o.Lease = 3 * time.Second
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	return o
}

// Fields of a job in the queue, and the name of the group.
const (
	fieldStream = "s"
	fieldFrom   = "f" // instance that put it
	fieldData   = "d"
	group       = "workers"
)

// kindGone is the message that tells a worker: nobody waits for the job.
const kindGone = "gone"

// Queue is a relay.Queue beside a log in Redis.
type Queue struct {
	log *redis.Log
	o   Options
	key string // of the queue
	era string // of the key that tells one queue from another of the same name

	pulse string // of the key that tells since when workers tick
}

// New makes a queue in the log's Redis. The log stays its owner's to close.
func New(log *redis.Log, o Options) *Queue {
	return &Queue{log: log, o: o.filled(), key: log.Key("{jobs}"), era: log.Key("{jobs}", "era"), pulse: log.Key("{jobs}", "pulse")}
}

// putKept is for how long a put is known again that is sent twice.
const putKept = 30 * time.Second

// putScript adds a job where fewer wait than may, once. KEYS: queue, and where it
// may be sent twice a key of this put's own. ARGV: group, most that wait, stream,
// instance, data, how long that key is kept in ms.
const putScript = `
if KEYS[2] then
  local ticket = redis.call('GET', KEYS[2])
  if ticket then return ticket end
end
local waiting = redis.call('XLEN', KEYS[1])
local p = redis.pcall('XPENDING', KEYS[1], ARGV[1])
if type(p) == 'table' and not p.err then waiting = waiting - p[1] end
if waiting >= tonumber(ARGV[2]) then return '' end
local ticket = redis.call('XADD', KEYS[1], '*', 's', ARGV[3], 'f', ARGV[4], 'd', ARGV[5])
if KEYS[2] then redis.call('SET', KEYS[2], ticket, 'PX', ARGV[6]) end
return ticket
`

var putting = goredis.NewScript(putScript) //nolint:gochecknoglobals // a constant in all but syntax

// makeScript makes the group where there is none, which begins an era: a queue
// that was lost knows nothing of the jobs that were in it.
//
// KEYS: queue, era. ARGV: group, a random name.
const makeScript = `
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if type(made) == 'table' and made.ok then redis.call('SET', KEYS[2], ARGV[2]) else redis.call('SET', KEYS[2], ARGV[2], 'NX') end
return redis.call('GET', KEYS[2])
`

var making = goredis.NewScript(makeScript) //nolint:gochecknoglobals // a constant in all but syntax

// begin makes the queue, if there is none, and gives its era.
func (q *Queue) begin(ctx context.Context) (era string, err error) {
	era, err = making.Run(ctx, q.log.Client(), []string{q.key, q.era}, group, rand.Text()).Text()
	return era, q.log.Failed(ctx, err)
}

// Put adds a job; see relay.Queue. It does not wait for a Redis that is away.
func (q *Queue) Put(ctx context.Context, j relay.Job) (ticket string, err error) {
	if !q.log.Up() {
		return "", fmt.Errorf("queue: %w", relay.ErrDown)
	}
	var reply *goredis.Cmd
	keys, args := []string{q.key}, []any{group, q.o.Waiting, j.Stream, q.log.Instance(), j.Data, putKept.Milliseconds()}
	if q.log.SendsAgain() {
		keys = append(keys, q.key+":put:"+rand.Text())
	}
	err = q.log.Claim(ctx, j.Stream, j.Head, func(p goredis.Pipeliner) {
		reply = p.EvalSha(ctx, putting.Hash(), keys, args...)
	})
	if reply != nil && goredis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
		reply = putting.Eval(ctx, q.log.Client(), keys, args...)
		err = q.log.Failed(ctx, reply.Err())
	}
	if err != nil {
		return "", fmt.Errorf("queue: %w", err)
	}
	if ticket, _ = reply.Val().(string); ticket == "" {
		_, err = q.log.Recall(ctx, j.Stream)
		return "", fmt.Errorf("queue: %w", first(err, relay.ErrQueueFull))
	}
	return ticket, nil
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Recall takes a job back that no worker has; see relay.Queue.
func (q *Queue) Recall(ctx context.Context, stream, ticket string) (back bool, err error) {
	owner, err := q.recall(ctx, stream, ticket)
	return owner == "" && err == nil, err
}

func (q *Queue) recall(ctx context.Context, stream, ticket string) (owner string, err error) {
	if owner, err = q.log.Recall(ctx, stream); err != nil || owner != "" {
		return owner, err
	}
	return "", q.log.Failed(ctx, q.log.Client().XDel(ctx, q.key, ticket).Err())
}

// Leave says that nobody waits for a job any more; see relay.Queue.
func (q *Queue) Leave(ctx context.Context, stream, ticket string) error {
	owner, err := q.recall(ctx, stream, ticket)
	if err != nil || owner == "" {
		return err
	}
	return q.log.Tell(ctx, owner, redis.Message{Kind: kindGone, Stream: stream})
}

// Depth is how many jobs wait for a worker, and how many workers have.
func (q *Queue) Depth(ctx context.Context) (waiting, taken int64, err error) {
	pipe := q.log.Client().Pipeline()
	all, pending := pipe.XLen(ctx, q.key), pipe.XPending(ctx, q.key, group)
	_, err = pipe.Exec(ctx)
	if goredis.HasErrorPrefix(err, "NOGROUP") {
		err = nil
	}
	if err = q.log.Failed(ctx, err); err != nil {
		return 0, 0, err
	}
	if p := pending.Val(); p != nil {
		taken = p.Count
	}
	return max(all.Val()-taken, 0), taken, nil
}

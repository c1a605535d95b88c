package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// Taken is what came of Take.
type Taken string

// What can come of it.
const (
	TakenOK     Taken = "ok"     // it is this instance's to open
	TakenGone   Taken = "gone"   // nobody waits for it any more
	TakenEnded  Taken = "ended"  // it has its terminal entry
	TakenOutput Taken = "output" // another instance has written entries of it
)

// takeScript makes an instance the owner of a stream that has no entries. An
// empty generation of another owner ends; what that owner still sends is refused
// by the append script, since the stream has another's name on it.
//
// KEYS: hash, stream. ARGV: instance, channel, ttl in ms.
const takeScript = `
local h = redis.call('HMGET', KEYS[1], 'e', 'n', 't', 'o')
if not h[4] then return {'gone', 0} end
if h[3] then return {'ended', 0} end
if h[1] and tonumber(h[2]) > 0 then return {'output', tonumber(h[2])} end
if h[1] then
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[1], 'e', 'n', 'f', 't', 'b')
end
redis.call('HSET', KEYS[1], 'o', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[2], 'taken')
return {'ok', 0}
`

// recallScript takes back what only its own instance announced; it answers who
// has it otherwise.
const recallScript = `
local h = redis.call('HMGET', KEYS[1], 'o', 'e')
if h[1] and (h[1] ~= ARGV[1] or h[2]) then return h[1] end
redis.call('DEL', KEYS[1])
return ''
`

var (
	taking    = goredis.NewScript(takeScript)
	recalling = goredis.NewScript(recallScript)
)

// Take makes this instance the owner of a stream that was announced and has no
// entries yet. entries is how many it has where it has.
func (l *Log) Take(ctx context.Context, stream string) (t Taken, entries int64, err error) {
	reply, err := taking.Run(ctx, l.client, []string{l.metaKey(stream), l.logKey(stream)},
		l.o.Instance, l.bellChannel(stream), l.o.Idle.Milliseconds()).Slice()
	if err != nil || len(reply) != 2 {
		return "", 0, l.failed(ctx, err)
	}
	word, _ := reply[0].(string)
	entries, _ = reply[1].(int64)
	return Taken(word), entries, nil
}

// Claim announces a stream as this instance's and waits until that is said,
// unlike Spread.Announce; what comes with it is sent in the same exchange, and
// done after it. In a cluster, whose nodes are asked side by side, it is another
// exchange.
func (l *Log) Claim(ctx context.Context, stream string, head []byte, with func(goredis.Pipeliner)) error {
	pipe := l.client.Pipeline()
	l.announce(ctx, pipe, stream, head)
	if l.where.cluster {
		if _, err := pipe.Exec(ctx); err != nil {
			return l.Failed(ctx, err)
		}
	}
	if with != nil {
		with(pipe)
	}
	_, err := pipe.Exec(ctx)
	return l.Failed(ctx, err)
}

// SendsAgain reports whether a command may be done twice: the client of a
// cluster sends one again whose answer did not come.
func (l *Log) SendsAgain() bool { return l.where.cluster }

// Recall takes back what this instance announced; owner is who has it otherwise.
func (l *Log) Recall(ctx context.Context, stream string) (owner string, err error) {
	owner, err = recalling.Run(ctx, l.client, []string{l.metaKey(stream)}, l.o.Instance).Text()
	return owner, l.failed(ctx, err)
}

// Finish ends a stream in the name of an owner that is gone.
func (l *Log) Finish(ctx context.Context, stream string, frame []byte) error {
	for range mostTries {
		m, err := l.stat(ctx, stream)
		if err != nil {
			return fmt.Errorf("stream %s: %w", stream, err)
		}
		if m.Ended {
			return nil
		}
		w := &writer{stream: stream, epoch: m.Last.Epoch, mode: "a", n: m.Last.Offset, f: m.First.Offset}
		e := relay.Entry{Position: relay.Position{Epoch: w.epoch, Offset: w.n + 1}, Frame: frame, Terminal: true}
		err = l.commit(ctx, l.plan(w, e.Offset, []relay.Entry{e}, true))
		if err != nil && !errors.Is(err, relay.ErrFenced) && !errors.Is(err, relay.ErrEnded) {
			return fmt.Errorf("stream %s: %w", stream, err)
		} // an entry that was there already passes as ours: look again
	}
	return fmt.Errorf("stream %s: its owner still writes: %w", stream, relay.ErrFenced)
}

// Failed is what an error of an exchange with this Redis means, for those who
// use its Client: nil, the context's cause, what Redis said, or relay.ErrDown.
// An answer of nothing is no error.
func (l *Log) Failed(ctx context.Context, err error) error {
	if errors.Is(err, goredis.Nil) {
		return nil
	}
	return l.failed(ctx, err)
}

// Forget drops what this process has of a stream; in Redis it stays.
func (s *Spread) Forget(stream string) {
	s.mu.Lock()
	if c := s.by[stream]; c != nil {
		s.finish(c)
	}
	s.mu.Unlock()
	_ = s.near.Drop(context.Background(), stream) // memory alone: it cannot fail
}

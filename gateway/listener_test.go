package gateway

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pair is a connection of Listener, and its other side.
func pair(t *testing.T) (ours net.Conn, theirs *net.TCPConn) {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	c, err := net.Dial("tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if ours, err = Listener(plain).Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	return ours, c.(*net.TCPConn)
}

// Every byte arrives in order, though the reader is slow and the socket full.
func TestListenerWritesAll(t *testing.T) {
	ours, theirs := pair(t)
	var want bytes.Buffer
	for i := range 3000 {
		want.Write(bytes.Repeat([]byte{byte(i)}, 1+i*7%3000))
	}
	all := want.Bytes()
	go func() {
		for len(all) > 0 {
			n := min(len(all), 1+len(all)%70_000)
			if m, err := ours.Write(all[:n]); m != n || err != nil {
				t.Errorf("%d of %d, %v", m, n, err)
				break
			}
			all = all[n:]
		}
		_ = ours.Close()
	}()
	time.Sleep(20 * time.Millisecond) // the socket fills
	got, err := io.ReadAll(theirs)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes of %d, %v", len(got), want.Len(), err)
	}
}

// A write to a full socket ends at its deadline and says how much left.
func TestListenerKeepsDeadlines(t *testing.T) {
	ours, theirs := pair(t)
	_ = ours.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	wrote := 0
	var err error
	for err == nil {
		var n int
		n, err = ours.Write(make([]byte, 60<<10))
		wrote += n
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(gone(err), errSlowClient) {
		t.Errorf("%v", err)
	}
	_ = ours.Close()
	if got, err := io.Copy(io.Discard, theirs); got != int64(wrote) {
		t.Errorf("%d bytes arrived of %d, %v", got, wrote, err)
	}
}

// A client that left is an error, and no signal ends the process.
func TestListenerTellsThatAClientLeft(t *testing.T) {
	ours, theirs := pair(t)
	_ = theirs.SetLinger(0)
	_ = theirs.Close()
	var err error
	for begin := time.Now(); err == nil && time.Since(begin) < 30*time.Second; {
		_, err = ours.Write([]byte("x"))
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
	_ = ours.Close()
	if _, err = ours.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// A connection that is closed while it is written to writes nothing to the one
// that gets its descriptor.
func TestListenerLeavesOthersAlone(t *testing.T) {
	for range 300 {
		ours, theirs := pair(t)
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		begun, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for n := 0; ; n++ {
				if _, err := ours.Write([]byte("not yours")); err != nil {
					return
				}
				if n == 10 {
					close(begun)
				}
			}
		}()
		<-begun
		_ = ours.Close()
		next, heard := pair(t)
		<-ended
		_ = next.Close()
		if got, err := io.ReadAll(heard); len(got) > 0 || err != nil {
			t.Fatalf("the next connection got %q, %v", got, err)
		}
	}
}

// A deadline that has passed is one, though the socket has room.
func TestListenerKeepsPassedDeadlines(t *testing.T) {
	ours, _ := pair(t)
	for _, set := range []func(time.Time) error{ours.SetDeadline, ours.SetWriteDeadline} {
		_ = set(time.Now().Add(-time.Second))
		if n, err := ours.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d, %v", n, err)
		}
		_ = set(time.Time{})
		if n, err := ours.Write([]byte("x")); n != 1 || err != nil {
			t.Errorf("without: %d, %v", n, err)
		}
	}
}

// Writes of any size, at once, stay whole.
func TestListenerKeepsWritesWhole(t *testing.T) {
	for i := range 20 {
		ours, theirs := pair(t)
		big, small := bytes.Repeat([]byte{'B'}, 4<<20), bytes.Repeat([]byte{'s'}, 1000)
		var all sync.WaitGroup
		all.Go(func() { _, _ = ours.Write(big) })
		all.Go(func() {
			time.Sleep(time.Duration(i) * 50 * time.Microsecond)
			_, _ = ours.Write(small)
		})
		go func() { all.Wait(); _ = ours.Close() }()
		got, err := io.ReadAll(theirs)
		if n := bytes.IndexByte(got, 's'); err != nil || len(got) != len(big)+len(small) || n != 0 && n != len(big) {
			t.Fatalf("of %d bytes the small write is at %d, %v", len(got), n, err)
		}
	}
}

// Close wakes a write that waits.
func TestListenerClosesWhatWaits(t *testing.T) {
	ours, _ := pair(t)
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, err = ours.Write(make([]byte, 60_000))
		}
		done <- err
	}()
	time.Sleep(100 * time.Millisecond) // the socket fills
	_ = ours.Close()
	select {
	case err := <-done:
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it still waits")
	}
}

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// bareLoop requests the paths at once and reads every answer to its end on one
// thread. It returns the number of line ends.
func bareLoop(ctx context.Context, host string, paths []string) (lines int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("baseline: %w", err)
	}
	defer func() { err = errors.Join(err, syscall.Close(poll)) }()
	fds, err := askAll(ctx, poll, host, paths)
	defer func() {
		for fd := range fds {
			err = errors.Join(err, syscall.Close(fd))
		}
	}()
	if err != nil {
		return 0, fmt.Errorf("baseline: %w", err)
	}
	ready, buf := make([]syscall.EpollEvent, 256), make([]byte, 16<<10)
	for len(fds) > 0 {
		if err := ctx.Err(); err != nil {
			return lines, err
		}
		n, err := wait(poll, ready)
		if err != nil {
			return lines, fmt.Errorf("baseline: epoll: %w", err)
		}
		for _, ev := range ready[:n] {
			got, ended, err := drain(int(ev.Fd), buf)
			lines += got
			if err != nil {
				return lines, fmt.Errorf("baseline: recv: %w", err)
			}
			if ended {
				delete(fds, int(ev.Fd))
				if err := syscall.Close(int(ev.Fd)); err != nil {
					return lines, fmt.Errorf("baseline: %w", err)
				}
			}
		}
	}
	return lines, nil
}

// wait waits for at most a second. The call is raw: the runtime's bookkeeping
// around a system call that blocks would make the loop dearer than a bare one.
func wait(poll int, ready []syscall.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(poll), uintptr(unsafe.Pointer(&ready[0])),
		uintptr(len(ready)), 1000, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		runtime.Gosched() // a signal: the runtime wants something
		return 0, nil
	}
	return 0, errno
}

// drain makes the one read that a level-triggered loop needs: on a socket it is
// recv without flags, and has a number of its own on every architecture.
func drain(fd int, buf []byte) (lines int, ended bool, err error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return 0, false, nil
	case errno != 0:
		return 0, true, errno
	}
	return bytes.Count(buf[:n], []byte{'\n'}), n == 0, nil
}

// askAll connects, writes the requests and hands the sockets to the poll.
func askAll(ctx context.Context, poll int, host string, paths []string) (map[int]struct{}, error) {
	fds, d := map[int]struct{}{}, net.Dialer{Timeout: 15 * time.Second}
	for _, path := range paths {
		c, err := d.DialContext(ctx, "tcp", host)
		if err != nil {
			return fds, err
		}
		body := `{"model":"mock","stream":true,"stream_options":{"include_usage":true}}`
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, host, len(body), body)
		fd := -1
		if err == nil {
			fd, err = own(c.(*net.TCPConn))
		}
		if err = errors.Join(err, c.Close()); err != nil {
			return fds, err
		}
		fds[fd] = struct{}{}
		if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}); err != nil {
			return fds, err
		}
	}
	return fds, nil
}

// own duplicates the connection's socket out of the runtime's poller.
func own(c *net.TCPConn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	err = raw.Control(func(s uintptr) { fd, dupErr = dup(s) })
	return fd, errors.Join(err, dupErr)
}

// dup duplicates a descriptor that programs it starts do not inherit.
func dup(fd uintptr) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

package load

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// reserved descriptors: for logs, a store, name lookups and the runtime.
const reservedDescriptors = 64

// descriptorsFree is how many descriptors this process may still open.
func descriptorsFree() (int, bool) {
	limit, used, ok := descriptors()
	return max(0, limit-used-reservedDescriptors), ok
}

// descriptors is the limit of open descriptors, and how many there are.
func descriptors() (limit, used int, ok bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, 0, false
	}
	info, err := os.Stat("/proc/self/fd")
	if err != nil {
		return 0, 0, false
	}
	used = int(info.Size()) // since Linux 6.2; 0 before
	if used == 0 {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0, 0, false
		}
		used = len(names)
	}
	return int(min(l.Cur, 1<<30)), used, true
}

// ports is how many local ports a connection can be made from, and how many
// sockets hold one: those in use and those that wait after their end. It
// counts all targets together, so that it errs towards too few.
func ports() (all, used int, ok bool) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var low, high int
	if n, _ := fmt.Sscan(string(b), &low, &high); err != nil || n != 2 {
		return 0, 0, false
	}
	f, err := os.Open("/proc/net/sockstat")
	if err != nil {
		return 0, 0, false
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		if rest, found := strings.CutPrefix(scan.Text(), "TCP:"); found {
			fields := strings.Fields(rest)
			for i := 0; i+1 < len(fields); i += 2 {
				if fields[i] == "inuse" || fields[i] == "tw" {
					var n int
					_, _ = fmt.Sscan(fields[i+1], &n) // a field that is no number counts nothing
					used += n
				}
			}
			return high - low + 1, used, true
		}
	}
	return 0, 0, false
}

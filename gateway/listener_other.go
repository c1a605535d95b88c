//go:build !linux

package gateway

import "net"

func quick(c net.Conn) net.Conn { return c }

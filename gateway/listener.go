package gateway

import "net"

// Listener makes the connections of plain clients cheaper to write to, for an
// http.Server whose Handler is a gateway's. Another listener serves as well.
func Listener(l net.Listener) net.Listener { return quickListener{l} }

type quickListener struct{ net.Listener }

// Accept implements net.Listener.
func (l quickListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return quick(c), nil
}

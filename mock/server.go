package mock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
)

// Server is a mock that listens.
type Server struct {
	*Mock
	listener net.Listener
	http     *http.Server
	caFile   string
	https    bool
	serving  sync.WaitGroup
	answers  sync.WaitGroup
}

// Start listens and serves until Close: HTTP/1.0, HTTP/1.1 and h2c, or with
// TLS HTTP/1.1 and h2.
func Start(o Options) (*Server, error) {
	m, err := New(o)
	if err != nil {
		return nil, err
	}
	s := &Server{Mock: m, https: o.TLS}
	if err := s.listen(o); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	s.serving.Go(func() { _ = s.http.Serve(s.listener) }) // always ErrServerClosed after Close
	return s, nil
}

func (s *Server) listen(o Options) error {
	addr := o.Listen
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("the mock cannot listen: %w", err)
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), Protocols: new(http.Protocols),
		ErrorLog: log.New(io.Discard, "", 0)} // clients that leave in mid-handshake are no news
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetHTTP2(true)
	s.http.Protocols.SetUnencryptedHTTP2(!o.TLS)
	s.listener = l
	if !o.TLS {
		return nil
	}
	cert, caFile, err := makeCertificate(addr)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.caFile = caFile
	s.listener = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}})
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.answers.Add(1)
	defer s.answers.Done()
	s.mux.ServeHTTP(w, r)
}

// Addr is the address it listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is where it answers, without a path.
func (s *Server) URL() string {
	if s.https {
		return "https://" + s.Addr().String()
	}
	return "http://" + s.Addr().String()
}

// CAFile is a PEM file that verifies it, or "" without TLS. Close removes it.
func (s *Server) CAFile() string { return s.caFile }

// Close breaks what still streams, ends the server and completes the truth log.
func (s *Server) Close() error {
	err := s.http.Close()
	s.serving.Wait()
	s.answers.Wait()
	err = errors.Join(err, s.Mock.Close())
	if s.caFile != "" {
		err = errors.Join(err, os.Remove(s.caFile))
	}
	return err
}

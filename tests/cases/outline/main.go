package main

import (
	"fmt"
	"net/http"
)

type Server struct {
	mux *http.ServeMux
}

type (
	Handler interface{ Serve(w http.ResponseWriter) }
	ID = string
)

func New[T any](addr string) (*Server, error) { return nil, nil }

func (s *Server) Start(
	addr string,
) error {
	go func() {}()
	return fmt.Errorf("x")
}

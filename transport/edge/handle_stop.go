package edge

func (s *Server) stopState(*request) (any, error) { return s.o.Stop.State(), nil }

// stopAll stops everything. It takes no place among the commands that wait: the more waits, the more it is needed.
func (s *Server) stopAll(q *request) (any, error) {
	source, err := stopSource(q)
	if err != nil {
		return nil, err
	}
	return s.o.Stop.StopAll(q.ctx, source)
}

func (s *Server) resume(q *request) (any, error) {
	source, err := stopSource(q)
	if err != nil {
		return nil, err
	}
	return s.o.Stop.Resume(q.ctx, source)
}

func stopSource(q *request) (string, error) {
	o, err := q.optionalObject()
	if err != nil {
		return "", err
	}
	return o.text("source"), o.err
}

// epoch is the stop epoch at which a message that came in now is admitted.
func (s *Server) epoch() uint64 {
	if s.o.Stop == nil {
		return 0
	}
	return s.o.Stop.Epoch()
}

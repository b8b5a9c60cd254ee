package edge

const (
	usageDays = 30
	mostDays  = 3660
)

// usage is what the last days came to.
func (s *Server) usage(q *request) (any, error) {
	days, err := q.number("days", usageDays, mostDays)
	if err != nil {
		return nil, err
	}
	return s.o.Usage.Report(q.ctx, days)
}

func (s *Server) usageCost(q *request) (any, error) { return s.o.Usage.Cost(q.ctx) }

func (s *Server) keepGoing(q *request) (any, error) { return s.o.Usage.KeepGoing(q.ctx) }

package edge

// restoreItem puts back what an item of the timeline changed (section 21). The id of a file snapshot is snap:<id>, that of a call
// in a chat chat:<session>:<message>.
func (s *Server) restoreItem(q *request) (any, error) {
	o, err := q.object()
	if err != nil {
		return nil, err
	}
	id := o.text("id")
	if o.err == nil && id == "" {
		o.wrong("id", "is missing")
	}
	if o.err != nil {
		return nil, o.err
	}
	var answer any
	err = s.command("timeline/"+id, func() (err error) {
		answer, err = s.o.Timeline.Restore(q.ctx, id)
		return err
	})
	return answer, err
}

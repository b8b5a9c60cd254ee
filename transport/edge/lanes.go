package edge

import "sync"

// lanes run jobs in the order they came for each owner, and beside each other for different ones. A lane's goroutine lives
// while it has jobs.
type lanes struct {
	mu     sync.Mutex
	queues map[string][]func()
	wg     sync.WaitGroup
}

func (l *lanes) put(owner string, job func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues == nil {
		l.queues = map[string][]func(){}
	}
	queue, running := l.queues[owner]
	l.queues[owner] = append(queue, job)
	if !running {
		l.wg.Add(1)
		go l.run(owner)
	}
}

func (l *lanes) run(owner string) {
	defer l.wg.Done()
	for {
		l.mu.Lock()
		queue := l.queues[owner]
		if len(queue) == 0 {
			delete(l.queues, owner)
			l.mu.Unlock()
			return
		}
		l.queues[owner] = queue[1:]
		l.mu.Unlock()
		queue[0]()
	}
}

// wait ends when all jobs are done; no more are put by then.
func (l *lanes) wait() { l.wg.Wait() }

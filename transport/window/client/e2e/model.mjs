// A model server for the tests: it speaks OpenAI's protocol and says what its script tells it to.

import { createServer } from 'node:http'

// Reply steps: a string is said at once; {say, every} says words, each after a pause; {think}; {tools: [{name, args}]};
// {wait: promise or ms}; {cut: true} breaks the connection.
export async function startModel() {
  const queue = []
  const requests = []
  const pulled = [] // models of its Ollama
  let script = null
  let held = Promise.resolve()
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', d => { body += d })
    req.on('end', () => {
      if (req.url === '/api/pull') return void pull(res, pulled, JSON.parse(body).model ?? JSON.parse(body).name)
      if (req.url === '/api/tags') {
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ models: pulled.map(name => ({ name, model: name, size: 1, details: { family: 'x', parameter_size: '8B' } })) }))
        return
      }
      if (req.url === '/api/chat') return void talk(res, JSON.parse(body), held)
      if (!req.url.endsWith('/chat/completions')) {
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ object: 'list', data: [{ id: 'test', object: 'model' }] }))
        return
      }
      const ask = JSON.parse(body)
      requests.push(ask)
      play(ask, res, queue.shift() ?? script?.(ask) ?? ['Hello there.']).catch(() => res.destroy())
    })
  })
  await new Promise(r => server.listen(0, '127.0.0.1', r))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    pulled,
    next: (...steps) => { queue.push(steps) },
    script: f => { script = f },
    talk: until => { held = until }, // the next replies of its Ollama wait for this
    close: () => new Promise(r => { server.closeAllConnections(); server.close(r) }),
  }
}

// talk plays a reply of Ollama.
async function talk(res, ask, until) {
  res.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const line = (content, more = {}) => res.write(JSON.stringify({ model: ask.model, created_at: '2026-01-01T00:00:00Z', message: { role: 'assistant', content }, done: false, ...more }) + '\n')
  line('Hello ')
  await until
  line('there.')
  line('', { done: true, done_reason: 'stop', prompt_eval_count: 100, eval_count: 20 })
  res.end()
}

// pull plays a download of Ollama.
async function pull(res, pulled, name) {
  res.writeHead(200, { 'content-type': 'application/x-ndjson' })
  if (name.startsWith('unknown')) return res.end(JSON.stringify({ error: 'pull model manifest: file does not exist' }) + '\n')
  for (let i = 0; i <= 4; i++) {
    res.write(JSON.stringify({ status: 'pulling 1234', digest: 'sha256:1234', total: 4e9, completed: i * 1e9 }) + '\n')
    await sleep(150)
  }
  if (!pulled.includes(name)) pulled.push(name)
  res.end(JSON.stringify({ status: 'success' }) + '\n')
}

let calls = 0
const sleep = ms => new Promise(r => setTimeout(r, ms))

async function play(ask, res, steps) {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  let gone = false
  res.on('close', () => { gone = true })
  const send = (delta, finish = null, extra = {}) => res.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: ask.model, choices: [{ index: 0, delta, finish_reason: finish }], ...extra })}\n\n`)
  send({ role: 'assistant', content: '' })
  let finish = 'stop'
  for (const step of steps) {
    if (gone) return
    if (typeof step === 'string') send({ content: step })
    else if (step.think) send({ reasoning_content: step.think })
    else if (step.say !== undefined) {
      for (const word of step.say.match(/\S+\s*|\s+/g) ?? []) {
        if (gone) return
        send({ content: word })
        if (step.every) await sleep(step.every)
      }
    } else if (step.tokens) {
      // Steady: what a slow timer missed is caught up.
      const began = Date.now()
      for (let i = 0; i < step.tokens && !gone;) {
        const due = Math.min(step.tokens, Math.floor((Date.now() - began) / 1000 * step.rate) + 1)
        for (; i < due; i++) send({ content: step.word ? step.word(i) : `word${i} ` })
        await sleep(4)
      }
    } else if (step.tools) {
      finish = 'tool_calls'
      step.tools.forEach((t, index) => send({ tool_calls: [{ index, id: t.id ?? `call_${++calls}`, type: 'function', function: { name: t.name, arguments: JSON.stringify(t.args ?? {}) } }] }))
    } else if (step.wait !== undefined) await (typeof step.wait === 'number' ? sleep(step.wait) : step.wait)
    else if (step.cut) return res.destroy()
  }
  if (gone) return
  send({}, finish, {})
  res.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: ask.model, choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } })}\n\n`)
  res.end('data: [DONE]\n\n')
}

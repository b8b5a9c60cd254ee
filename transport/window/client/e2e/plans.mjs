// A server that plays the providers of plans: the sign-in pages, which send the browser back at once, with real PKCE checks and
// a signed ID token; what a key may do; the lists of models.

import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

const b64 = v => Buffer.from(typeof v === 'string' ? v : JSON.stringify(v)).toString('base64url')

export async function startPlans() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const grants = new Map()
  const state = { decline: false, revoked: 0, keys: new Set(['sk-or-test', 'sk-ant-good']), token: '' }
  let url = ''

  const back = (res, to, add) => {
    const u = new URL(to)
    for (const [k, v] of Object.entries(add)) u.searchParams.set(k, v)
    res.writeHead(302, { location: u.href }).end()
  }
  const grant = g => {
    const code = randomUUID()
    grants.set(code, g)
    return code
  }
  const take = (code, verifier) => {
    const g = grants.get(code)
    grants.delete(code)
    return g && createHash('sha256').update(verifier ?? '').digest('base64url') === g.challenge ? g : null
  }
  function idToken(g) {
    const now = Math.floor(Date.now() / 1000)
    const signed = `${b64({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${b64({ iss: url, sub: 'user-1', aud: g.client, exp: now + 3600, iat: now, nonce: g.nonce, email: 'maya@example.com' })}`
    return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey).toString('base64url')}`
  }

  const server = createServer((req, res) => {
    let body = ''
    req.on('data', d => { body += d })
    req.on('end', () => {
      const u = new URL(req.url, url)
      const q = Object.fromEntries(u.searchParams)
      const json = (v, status = 200) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(v))
      const key = req.headers['x-api-key'] ?? req.headers.authorization?.replace('Bearer ', '')
      const refuse = () => json({ error: { message: 'invalid key', type: 'authentication_error' } }, 401)
      switch (u.pathname) {
        case '/auth':
          return state.decline ? back(res, q.callback_url, { error: 'access_denied' }) : back(res, q.callback_url, { code: grant({ challenge: q.code_challenge }) })
        case '/keys': {
          const ask = JSON.parse(body)
          return take(ask.code, ask.code_verifier) ? json({ key: 'sk-or-test', user_id: 'u' }) : json({ error: 'invalid_grant' }, 400)
        }
        case '/authorize': {
          if (state.decline) return back(res, q.redirect_uri, { state: q.state, error: 'access_denied' })
          const client = q.client_id === 'dynamic_agent_client' ? 'app_1' : q.client_id
          return back(res, q.redirect_uri, { state: q.state, client_id: client, code: grant({ client, challenge: q.code_challenge, nonce: q.nonce }) })
        }
        case '/token': {
          const f = new URLSearchParams(body)
          const g = take(f.get('code'), f.get('code_verifier'))
          if (!g) return json({ error: 'invalid_grant' }, 400)
          state.token = 'access-' + randomUUID()
          return json({ access_token: state.token, refresh_token: 'refresh-' + randomUUID(), token_type: 'Bearer', expires_in: 3600, id_token: idToken(g), scope: 'openid profile email offline_access resource.invoke chatgpt.tokens.use.direct' })
        }
        case '/jwks': return json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] })
        case '/revoke': state.revoked++; return json({})
        case '/v1/models': return key && key === state.token
          ? json({ models: [{ slug: 'gpt-6-luna', display_name: 'GPT-6 Luna', visibility: 'list', priority: 1, context_window: 128000, supported_reasoning_levels: [{ effort: 'minimal' }] }] }) : refuse()
        case '/claude/v1/models': return state.keys.has(key) ? json({ data: [{ id: 'claude-sonnet-5', display_name: 'Claude Sonnet 5', type: 'model' }], has_more: false }) : refuse()
        case '/router/key': return state.keys.has(key) ? json({ data: { label: 'test', usage: 0, limit: null } }) : refuse()
        case '/router/models': return json({ data: [
          { id: 'meta-llama/llama-9:free', name: 'Llama 9 (free)', context_length: 131072, pricing: { prompt: '0', completion: '0' }, supported_parameters: ['tools'] },
          ...Array.from({ length: 300 }, (_, i) => ({ id: `vendor/model-${i}`, name: `Model ${i}`, context_length: 32768, pricing: { prompt: '0.000001', completion: '0.000002' }, supported_parameters: [] }))] })
      }
      return json({ error: 'not here: ' + u.pathname }, 404)
    })
  })
  await new Promise(r => server.listen(0, '127.0.0.1', r))
  url = `http://127.0.0.1:${server.address().port}`
  return { url, state, close: () => new Promise(r => { server.closeAllConnections(); server.close(r) }) }
}

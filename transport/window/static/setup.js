// The first run: which model answers. A pasted key that is tried at once, a model on this computer, or the built-in guide.

import { call, el, say, setToken } from './api.js'

// askToken is shown when the page was opened without its token.
export function askToken(app, go) {
  const field = el('input', { type: 'password', id: 'token', autocomplete: 'off', required: true })
  const form = el('form.card', { onsubmit: e => { e.preventDefault(); setToken(field.value); go() } },
    el('h1', null, 'Open Sentient'),
    el('p', null, 'This page was opened without its token. Start Sentient again and use the address it prints, or paste the token from the file gateway.token in its folder.'),
    el('label', { htmlFor: 'token' }, 'Token'), field,
    el('button.primary', { type: 'submit' }, 'Open'))
  app.replaceChildren(el('main.center', null, form))
  field.focus()
}

export async function setup(app, boot, done) {
  const [providers, local] = await Promise.all([
    call('GET', '/api/models/providers').catch(() => []),
    call('GET', '/api/models/local').catch(() => ({})),
  ])
  const name = el('input', { id: 'name', autocomplete: 'given-name', value: boot.assistant.user_name || '', placeholder: 'Optional' })
  const note = el('p.note', { role: 'alert' })

  const finish = async roles => {
    await call('PUT', '/api/models/roles', roles)
    await call('POST', '/api/onboarding', { user_name: name.value.trim(), assistant_name: boot.assistant.name, timezone: zone(), persona: 'friendly', daily_brief: false })
    say('Sentient is ready.')
    done()
  }
  const busy = async (button, work) => {
    const was = button.textContent
    button.disabled = true
    button.textContent = 'One moment…'
    note.textContent = ''
    try { await work() } catch (e) { note.textContent = e.message }
    button.disabled = false
    button.textContent = was
  }

  app.replaceChildren(el('main.center', null,
    el('div.card.wide', null,
      el('h1', null, 'Welcome'),
      el('p', null, 'Sentient runs on this computer. Choose who answers; you can change it later.'),
      el('label', { htmlFor: 'name' }, 'Your name'), name,
      el('div.choices', null, keyChoice(providers, busy, finish), localChoice(local, busy, finish), guideChoice(busy, finish)),
      note)))
  name.focus()
}

function zone() { try { return Intl.DateTimeFormat().resolvedOptions().timeZone || 'auto' } catch { return 'auto' } }

function keyChoice(providers, busy, finish) {
  const cloud = providers.filter(p => p.kind === 'cloud' && p.key_required && !p.sign_in && (p.suggested || []).length)
  if (!cloud.length) return null
  const pick = el('select', { id: 'provider' }, cloud.map(p => el('option', { value: p.id }, p.label + (p.key_set ? ' (a key is set)' : ''))))
  const key = el('input', { id: 'key', type: 'password', autocomplete: 'off', spellcheck: false })
  const link = el('a', { target: '_blank', rel: 'noopener noreferrer' }, 'Where do I get a key?')
  const chosen = () => cloud.find(p => p.id === pick.value)
  const show = () => { const p = chosen(); link.hidden = !/^https:\/\//.test(p.docs_url || ''); if (!link.hidden) link.href = p.docs_url; key.placeholder = p.key_set ? 'Leave empty to keep it' : 'Paste it here' }
  pick.addEventListener('change', show)
  show()
  const button = el('button.primary', { type: 'submit' }, 'Check and start')
  return el('form.choice', { onsubmit: e => { e.preventDefault(); busy(button, async () => {
    const p = chosen(), value = key.value.trim()
    if (!value && !p.key_set) throw new Error('Paste a key first.')
    if (value) await call('PUT', '/api/secrets/' + encodeURIComponent(p.id), { value })
    key.value = ''
    await check(p)
    await finish({ primary: p.suggested[0], fast: p.suggested[1] || p.suggested[0] })
  }) } },
  el('h2', null, 'A cloud model'), el('p', null, 'Best answers. Your messages go to the provider you choose.'),
  el('label', { htmlFor: 'provider' }, 'Provider'), pick, el('label', { htmlFor: 'key' }, 'Key'), key, link, button)
}

// check tries the saved key for free where the provider allows it, else with one short answer of the model.
async function check(p) {
  let result
  try { result = await call('POST', `/api/models/connect/${encodeURIComponent(p.id)}/check`) } catch (e) {
    if (e.status !== 404) throw e
    result = await call('POST', '/api/models/test', { model: p.suggested[0] })
  }
  if (!result.ok) throw new Error(result.error || 'The key does not work.')
}

function localChoice(local, busy, finish) {
  const models = []
  for (const [kind, prefix, label] of [['ollama', 'ollama_chat/', 'Ollama'], ['lm_studio', 'lm_studio/', 'LM Studio']]) {
    for (const m of (local[kind] && local[kind].models) || []) if (!m.is_embedding) models.push([prefix + m.name, `${m.name} (${label})`])
  }
  if (!models.length) {
    return el('div.choice', null, el('h2', null, 'A model on this computer'), el('p', null, 'Nothing leaves this computer. Neither Ollama nor LM Studio is running with a model: start one of them, then load this page again.'))
  }
  const pick = el('select', { id: 'local' }, models.map(([v, l]) => el('option', { value: v }, l)))
  const button = el('button.primary', { type: 'submit' }, 'Use it')
  return el('form.choice', { onsubmit: e => { e.preventDefault(); busy(button, () => finish({ primary: pick.value, fast: pick.value })) } },
    el('h2', null, 'A model on this computer'), el('p', null, 'Nothing leaves this computer.'), el('label', { htmlFor: 'local' }, 'Model'), pick, button)
}

function guideChoice(busy, finish) {
  const button = el('button', { type: 'submit' }, 'Look around')
  return el('form.choice', { onsubmit: e => { e.preventDefault(); busy(button, () => finish({ primary: 'demo/guide', fast: 'demo/guide' })) } },
    el('h2', null, 'Just look around'), el('p', null, 'A built-in guide shows how things work. It is not a model and knows nothing else.'), button)
}

// Which models can be picked for a role, and finding one among hundreds. Pure.

import type { LocalModels, Provider } from './wire'

export interface Entry { id: string; label: string; free: boolean; tools: boolean; context_length: number | null }

export interface ClaudeCode { enabled: boolean; installed: boolean; version: string | null; detail: string; models: string[]; fast_model: string; everywhere: boolean; roles: string[]; max_concurrent: number; running: number; waiting: number }

export interface Pick { id: string; where: string; hint: string }

// Known is all that the engine says about models. A list that could not be read is empty.
export interface Known { local: LocalModels; providers: Provider[]; lists: Record<string, Entry[]>; claude: ClaudeCode | null }

const LOCAL: [runtime: string, chat: string, embed: string, label: string][] = [['ollama', 'ollama_chat/', 'ollama/', 'Ollama'], ['lm_studio', 'lm_studio/', 'lm_studio/', 'LM Studio']]

export function contextText(n: number | null | undefined): string {
  if (!n) return ''
  return n >= 1e6 ? `reads ${+(n / 1e6).toFixed(1)} M` : n >= 1000 ? `reads ${Math.round(n / 1000)} k` : `reads ${n}`
}

const hintOf = (e: Entry) => [e.free ? 'free' : '', e.tools ? 'tools' : 'no tools', contextText(e.context_length)].filter(x => x).join(', ')

function onComputer(local: LocalModels, embedding: boolean): Pick[] {
  return LOCAL.flatMap(([runtime, chat, embed, where]) => (local[runtime]?.models ?? []).filter(m => !!m.is_embedding === embedding)
    .map(m => ({ id: (embedding ? embed : chat) + m.name, where, hint: [m.parameter_size ?? '', m.capabilities?.includes('vision') ? 'sees pictures' : '', m.capabilities?.includes('tools') ? 'tools' : ''].filter(x => x).join(', ') })))
}

// picks are the models for a role, those on this computer first. Each is there once.
export function picks(k: Known, role: string): Pick[] {
  const out: Pick[] = onComputer(k.local, role === 'embedding')
  if (role === 'embedding') out.push({ id: 'builtin/use-lite', where: 'Built in', hint: 'always there' })
  else {
    if (k.claude?.enabled && k.claude.roles.includes(role)) out.push(...k.claude.models.map(id => ({ id, where: 'Claude Code', hint: 'on your plan' })))
    for (const p of k.providers) {
      const usable = p.kind === 'cloud' ? p.key_set : p.id === 'demo' // what this computer has is known by itself
      const list = k.lists[p.id] ?? []
      if (!usable) continue
      out.push(...p.suggested.filter(m => m.includes('/')).map(id => {
        const e = list.find(x => x.id === id)
        return { id, where: p.label, hint: e ? hintOf(e) : p.id === 'demo' ? 'a script' : 'suggested' }
      }))
      out.push(...list.map(e => ({ id: e.id, where: p.label, hint: hintOf(e) })))
    }
  }
  const seen = new Set<string>()
  return out.filter(p => !seen.has(p.id) && seen.add(p.id))
}

// search keeps what has every word, in order, at most limit; nothing typed keeps all.
export function search(all: readonly Pick[], words: string, limit = 50): Pick[] {
  const ws = words.toLowerCase().split(/\s+/).filter(w => w)
  return all.filter(p => ws.every(w => `${p.id} ${p.where} ${p.hint}`.toLowerCase().includes(w))).slice(0, limit)
}

// LISTED are the providers whose list of models the engine can give.
export const LISTED = ['openrouter', 'nous', 'anthropic', 'chatgpt']

// modelProblem says what is wrong with what was typed for a role; "" when it can be saved.
export function modelProblem(text: string): string {
  const t = text.trim()
  if (!t) return ''
  if (/\s/.test(t)) return 'A model is written without spaces.'
  const [provider, ...rest] = t.split('/')
  return provider && rest.join('/') ? '' : 'Write it as provider/model, such as ollama_chat/qwen3:8b.'
}

// claudeProblem says that a role would be refused by Claude Code: by its own model, or the main model it falls back to.
export function claudeProblem(role: string, models: Record<string, string | null>, claude: ClaudeCode | null): string {
  const own = models[role]
  const model = own ?? models.primary
  if (!model?.startsWith('claude-code/') || !claude) return ''
  if (!claude.enabled) return own || role === 'primary' ? 'Claude Code is turned off, so this model does not answer. Turn it on under Plans, or pick another.' : ''
  if (role === 'embedding' ? !own : claude.roles.includes(role)) return ''
  return `Claude Code only answers your chats, so it does not do this. Pick another model here${own ? '' : ': this role uses the main model, which is Claude Code'}.`
}

// Which models can be picked, and how they are called.

import type { LocalModels, Provider } from '../../core/wire'
import { get } from '../../net/api'

export const PREFIX: Record<string, [string, string]> = { ollama: ['ollama_chat/', 'Ollama'], lm_studio: ['lm_studio/', 'LM Studio'] }

export function shortModel(m: string): string {
  if (m === 'demo/guide') return 'Built-in guide'
  return m.split('/').slice(1).join('/') || m || 'No model'
}

// localNames are the models that programs on this computer have.
export function localNames(local: LocalModels): { model: string; label: string }[] {
  const all = Object.entries(PREFIX).flatMap(([id, [prefix, label]]) =>
    (local[id]?.models ?? []).filter(m => !m.is_embedding).map(m => ({ model: prefix + m.name, label: `${m.name} (${label})` })))
  return all.filter((m, i) => all.findIndex(o => o.model === m.model) === i)
}

// offered are the models that would answer now: of providers with a key, and those on this computer.
export async function offered(): Promise<string[]> {
  const [providers, local] = await Promise.all([
    get<Provider[]>('/api/models/providers').catch(() => []),
    get<LocalModels>('/api/models/local').catch(() => ({})),
  ])
  return [...localNames(local).map(m => m.model), ...providers.filter(p => p.key_set || p.id === 'demo').flatMap(p => p.suggested)]
}

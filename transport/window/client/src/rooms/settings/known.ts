// Asking the engine for all models that can be picked.

import { type ClaudeCode, type Entry, type Known, LISTED } from '../../core/catalog'
import type { LocalModels, Provider } from '../../core/wire'
import { get, path } from '../../net/api'

const or = <T>(work: Promise<T>, instead: T): Promise<T> => work.catch(() => instead)

// known asks for everything at once; a provider's list only where it has a key.
export async function known(): Promise<Known> {
  const [local, providers, claude] = await Promise.all([
    or(get<LocalModels>('/api/models/local'), {}), or(get<Provider[]>('/api/models/providers'), []), or<ClaudeCode | null>(get<ClaudeCode>('/api/models/claude-code'), null)])
  const listed = providers.filter(p => p.key_set && LISTED.includes(p.id))
  const lists = await Promise.all(listed.map(async p => [p.id, await or(get<Entry[]>(path('api/models/catalog', p.id)), [])] as const))
  return { local, providers, claude, lists: Object.fromEntries(lists) }
}

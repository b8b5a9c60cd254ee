// The one-click fixes that the check-up and presets offer.

import type { App } from '../../app/app.svelte'
import type { Action } from '../../core/models'
import { call } from '../../net/api'

// fix does what can be done at once; downloads and keys have their own places.
export async function fix(app: App, a: Action): Promise<boolean> {
  switch (a.kind) {
    case 'use_model':
      await call('PUT', '/api/models/roles', { [a.role]: a.model })
      break
    case 'set_reasoning':
      await call('PATCH', '/api/config', { models: { reasoning: { [a.role]: a.value } } })
      break
    case 'set_context_length':
      await call('PATCH', '/api/config', { models: a.role ? { context_length_per_role: { [a.role]: a.value } } : { context_length: a.value } })
      break
    case 'add_key':
      app.go('/settings/keys')
      return false
    default:
      return false
  }
  await app.readBoot()
  return true
}

import { Refused, call } from '../../net/api'

// checkKey tries a saved key: for free where the provider allows it, else with one short answer of a model.
export async function checkKey(provider: string, model: string): Promise<void> {
  let r: { ok: boolean; error?: string; detail?: string }
  try {
    r = await call('POST', `/api/models/connect/${encodeURIComponent(provider)}/check`)
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e
    r = await call('POST', '/api/models/test', { model })
  }
  if (!r.ok) throw new Error(r.error || r.detail || 'The key does not work.')
}

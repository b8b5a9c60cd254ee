// Answers that come line by line (NDJSON).

import { lines } from '../core/models'
import { Refused } from './api'
import { token } from './token'

// stream sends a request and hands over each line as it comes. A signal stops it.
export async function stream<T>(path: string, body: unknown, take: (line: T) => void, signal?: AbortSignal): Promise<void> {
  let res: Response
  try {
    res = await fetch(path, { method: 'POST', headers: { Authorization: 'Bearer ' + token(), 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal })
  } catch (e) {
    if (signal?.aborted) return
    throw e instanceof Refused ? e : new Refused(0, null)
  }
  if (!res.ok || !res.body) throw new Refused(res.status, ((await res.json().catch(() => null)) as { detail?: unknown } | null)?.detail)
  try {
    await lines<T>(res.body, take)
  } catch (e) {
    if (!signal?.aborted) throw e
  }
}

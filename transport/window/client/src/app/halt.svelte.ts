// Stop everything and Resume. Both are the engine's; the window only asks, and shows what the engine says.

import { type StopReport, type StopState, told } from '../core/halt'
import { call } from '../net/api'
import type { App } from './app.svelte'

export class Halt {
  busy = $state(false)
  state = $state.raw<StopState>({ stopped: false, stopped_at: null, source: null })

  constructor(private readonly app: App) {}

  // hear takes what the engine says at the start and after every change.
  hear(s: StopState | undefined): void {
    if (!s) return
    if (s.stopped !== this.state.stopped) this.app.announce(s.stopped ? 'Everything is stopped.' : 'Work goes on.')
    this.state = s
  }

  // stop never waits for anything else, and may be pressed again.
  async stop(source: 'desktop' | 'hotkey'): Promise<void> {
    this.busy = true
    const r = await this.app.attempt(() => call<StopReport>('POST', '/api/stop-all', { source }))
    this.busy = false
    if (!r) return
    this.hear(r)
    this.app.toast(told(r), r.not_ended?.length ? 'bad' : 'info')
  }

  async resume(): Promise<void> {
    this.hear(await this.app.attempt(() => call<StopState>('POST', '/api/resume', { source: 'desktop' })))
  }
}

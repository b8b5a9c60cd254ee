// Stop everything, as it is told to the person (section 17).

export interface StopState { stopped: boolean; stopped_at: string | null; source: string | null }
export interface StopReport extends StopState { cancelled: number; not_ended?: string[] }

const WHERE: Record<string, string> = {
  desktop: 'in a window', tray: 'from the tray', hotkey: 'with the keyboard', telegram: 'from Telegram', discord: 'from Discord', whatsapp: 'from WhatsApp',
  api: 'by another program', cli: 'in a terminal', device: 'from a device',
}

// since says since when and by what everything is stopped.
export function since(s: StopState, now = new Date()): string {
  const where = s.source ? ` ${WHERE[s.source] ?? ''}`.trimEnd() : ''
  if (!s.stopped_at) return where
  const at = new Date(s.stopped_at)
  const time = at.toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })
  return at.toDateString() === now.toDateString() ? `${where} at ${time}` : `${where} on ${at.toLocaleDateString([], { weekday: 'long', day: 'numeric', month: 'long' })} at ${time}`
}

// told is what a stop did.
export function told(r: StopReport): string {
  const n = r.cancelled
  const what = n === 0 ? 'Stopped. Nothing was running.' : `Stopped. ${n === 1 ? 'One running job was' : `${n} running jobs were`} cancelled.`
  return r.not_ended?.length ? `${what} Not ended yet: ${r.not_ended.join(', ')}.` : what
}

// isHaltKey: Ctrl+Alt+Shift+S, Cmd+Alt+Shift+S on a Mac. Alt may turn the letter into another one.
export function isHaltKey(e: { ctrlKey: boolean; metaKey: boolean; altKey: boolean; shiftKey: boolean; code: string }): boolean {
  return (e.ctrlKey || e.metaKey) && e.altKey && e.shiftKey && e.code === 'KeyS'
}

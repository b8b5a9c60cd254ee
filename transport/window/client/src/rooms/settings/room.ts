import type { Room } from '../../app/rooms'

export const settingsRoom: Room = {
  id: 'settings',
  title: 'Settings',
  icon: 'settings',
  place: 'bottom',
  route: '/settings',
  owns: route => route === '/settings' || route.startsWith('/settings/'),
  load: () => import('./SettingsRoom.svelte'),
  commands: app => [{ title: 'Open settings', group: 'Go to', run: () => app.go('/settings') }],
}

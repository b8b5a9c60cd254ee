import type { Room } from '../../app/rooms'

export const filesRoom: Room = {
  id: 'files',
  title: 'Files',
  icon: 'files',
  place: 'top',
  route: '/files',
  owns: route => route === '/files' || route.startsWith('/files/'),
  load: () => import('./FilesRoom.svelte'),
  commands: app => [{ title: 'Open files', group: 'Go to', run: () => app.go('/files') }],
}

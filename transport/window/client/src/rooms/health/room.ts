import type { Room } from '../../app/rooms'

export const healthRoom: Room = {
  id: 'health',
  title: 'Engine',
  icon: 'health',
  place: 'bottom',
  route: '/health',
  owns: route => route === '/health' || route.startsWith('/health/'),
  load: () => import('./HealthRoom.svelte'),
  commands: app => [{ title: 'Open engine', group: 'Go to', run: () => app.go('/health') }],
}

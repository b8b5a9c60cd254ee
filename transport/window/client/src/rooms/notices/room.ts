import type { App } from '../../app/app.svelte'
import type { Room } from '../../app/rooms'
import { NoticeStore } from './notices.svelte'

export const noticesOf = (app: App) => app.stores.get('notices') as NoticeStore | undefined

export const noticesRoom: Room = {
  id: 'notices',
  title: 'Notifications',
  short: 'News',
  icon: 'bell',
  place: 'bottom',
  route: '/notifications',
  owns: route => route === '/notifications',
  load: () => import('./NoticesRoom.svelte'),
  store: app => new NoticeStore(app),
  unread: app => noticesOf(app)?.unread ?? 0,
  commands: app => [
    { title: 'Open notifications', group: 'Go to', run: () => app.go('/notifications') },
    ...(noticesOf(app)?.unread ? [{ title: 'Mark all notifications as read', group: 'Notifications', run: () => void noticesOf(app)?.readAll() }] : []),
  ],
}

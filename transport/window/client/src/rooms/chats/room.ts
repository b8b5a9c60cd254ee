import type { Room } from '../../app/rooms'
import ChatsRoom from './ChatsRoom.svelte'

export const chatsRoom: Room = {
  id: 'chats',
  title: 'Chats',
  icon: 'chat',
  place: 'top',
  route: '/',
  owns: route => route === '' || route === '/' || route.startsWith('/chat/') || route === '/new' || route === '/incognito',
  load: () => Promise.resolve({ default: ChatsRoom }), // what is seen first is not fetched later
  settings: ['assistant', 'models', 'chat', 'tools', 'ui', 'gateway', 'integrations'],
  commands: app => {
    const chat = app.chats.open
    const list = [
      { title: 'New chat', group: 'Chats', keys: 'Ctrl+Shift+O', run: () => app.chats.fresh(false) },
      { title: 'New incognito chat', group: 'Chats', hint: 'Not saved, deleted when you leave it', keys: 'Ctrl+Shift+L', run: () => app.chats.fresh(true) },
      { title: 'Search chats', group: 'Chats', keys: 'Ctrl+Shift+F', run: () => app.chats.focusSearch() },
      { title: 'Write a message', group: 'Chats', keys: 'Esc, then type', run: () => app.chats.focusBox() },
    ]
    if (!chat.id) return list
    list.push(
      { title: 'Rename this chat', group: 'This chat', keys: 'F2', run: () => void app.chats.rename(chat.id) },
      { title: 'Export this chat as Markdown', group: 'This chat', keys: '', run: () => void chat.save() },
      { title: 'Delete this chat', group: 'This chat', keys: '', run: () => void app.chats.remove(chat.id) },
    )
    if (chat.running) list.push({ title: 'Stop the reply', group: 'This chat', keys: 'Esc', run: () => chat.stop() })
    return list
  },
}

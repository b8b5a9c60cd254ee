// The rooms of the window. A capability adds one: its routes, its live store, its screens and its commands. The rail shows
// what is here and nothing else.

import type { Component } from 'svelte'
import type { ChatEvent } from '../core/wire'
import { chatsRoom } from '../rooms/chats/room'
import { filesRoom } from '../rooms/files/room'
import { healthRoom } from '../rooms/health/room'
import { noticesRoom } from '../rooms/notices/room'
import { settingsRoom } from '../rooms/settings/room'
import type { App } from './app.svelte'

export interface Command {
  title: string
  hint?: string
  keys?: string // as the list of shortcuts shows them
  group: string
  run(): void
}

export interface Store { hear?(e: ChatEvent): void; connected?(): void }

export interface Room {
  id: string
  title: string
  short?: string // under the icon of the rail, where the title is too long
  icon: string
  place: 'top' | 'bottom' // of the rail
  route: string
  owns(route: string): boolean
  load(): Promise<{ default: Component }>
  // store hears every event while the window is open, and that a connection is there (again).
  store?(app: App): Store
  unread?(app: App): number // what waits to be read there
  commands?(app: App): Command[]
  // settings names the sections of the configuration that this room makes real.
  settings?: string[]
}

export const rooms: Room[] = [chatsRoom, filesRoom, noticesRoom, healthRoom, settingsRoom]

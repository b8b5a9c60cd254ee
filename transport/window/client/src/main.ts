import { mount } from 'svelte'
import './app.css'
import App from './app/App.svelte'
import { App as State, rememberedLook } from './app/app.svelte'
import { takeToken } from './net/token'

takeToken() // before anything else can see the address
rememberedLook()
const state = new State()
mount(App, { target: document.getElementById('app')!, props: { state } })
void state.open()

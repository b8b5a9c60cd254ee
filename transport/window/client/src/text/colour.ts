// Colours for code, loaded when the first code block is finished.

import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import lua from 'highlight.js/lib/languages/lua'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import php from 'highlight.js/lib/languages/php'
import powershell from 'highlight.js/lib/languages/powershell'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { createLowlight } from 'lowlight'
import { visible } from './visible'

const low = createLowlight({
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, markdown, php, powershell, python, ruby, rust,
  sql, swift, typescript, xml, yaml,
})

interface TreeNode {
  type: string
  value?: string
  children?: TreeNode[]
  properties?: { className?: string[] }
}

function build(nodes: TreeNode[]): Node[] {
  return nodes.map(n => {
    if (n.type === 'text') return document.createTextNode(visible(n.value ?? ''))
    const span = document.createElement('span')
    span.className = (n.properties?.className ?? []).filter(c => /^hljs-[\w-]+$|^\w+_$/.test(c)).join(' ')
    span.append(...build(n.children ?? []))
    return span
  })
}

export function colour(el: HTMLElement, source: string, language: string): void {
  const name = language.toLowerCase()
  if (!low.registered(name)) return
  el.replaceChildren(...build(low.highlight(name, source).children as TreeNode[]))
}

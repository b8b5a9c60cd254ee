// Formulas as MathML: no fonts, no styles of its own beyond what the browser has.

import temml from 'temml'

export function draw(el: HTMLElement, source: string, display: boolean): void {
  try {
    temml.render(source, el, { displayMode: display, throwOnError: true, trust: false, strict: false, maxExpand: 500, maxSize: [20, 40] })
    el.classList.add('md-math-drawn')
  } catch {
    el.textContent = display ? `$$${source}$$` : `$${source}$`
  }
}

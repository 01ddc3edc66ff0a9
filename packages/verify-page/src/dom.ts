// Elements of the page. Content of a document is only inserted as text, never as HTML, which the
// page's content security policy forbids too.

/** An element with attributes, listeners (`on`) and children; `null` children are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  options: {
    readonly class?: string
    readonly on?: Readonly<Record<string, (event: Event) => void>>
    readonly [attribute: string]: unknown
  } = {},
  ...children: readonly (Node | string | null)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(options)) {
    if (name === 'on' || value === undefined || value === false) continue
    element.setAttribute(name, value === true ? '' : String(value))
  }
  for (const [type, listener] of Object.entries(options.on ?? {}))
    element.addEventListener(type, listener)
  element.append(...children.filter((child) => child !== null))
  return element
}

export function button(text: string, press: () => void, look = ''): HTMLButtonElement {
  return el('button', { type: 'button', class: look, on: { click: press } }, text)
}

/** A collapsible section. Its content is created when it is first opened. */
export function disclosure(title: string, content: () => Node): HTMLDetailsElement {
  const body = el('div', { class: 'opened' })
  const details = el('details', {}, el('summary', {}, title), body)
  details.addEventListener('toggle', () => {
    if (details.open && body.childNodes.length === 0) body.append(content())
  })
  return details
}

export function rows(pairs: readonly (readonly [string, Node | string])[]): HTMLElement {
  const list = el('dl')
  for (const [name, value] of pairs) list.append(el('dt', {}, name), el('dd', {}, value))
  return list
}

/** A field to paste text into, with the button that submits it. */
export function pasteField(
  id: string,
  { label, action }: { label: string; action: string },
  take: (text: string) => boolean,
): HTMLElement {
  const field = el('textarea', { id, rows: 6, spellcheck: 'false', autocomplete: 'off' })
  const press = () => {
    if (field.value.trim() !== '' && take(field.value)) field.value = ''
  }
  return el('div', {}, el('label', { for: id }, label), field, button(action, press))
}

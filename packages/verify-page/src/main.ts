// The page: accepts files and keys, verifies, and shows the results.

import { readKeyList } from '@custos/proof'
import { badge, cardBody, explanation, titleOf } from './card.ts'
import { button, disclosure, el, pasteField } from './dom.ts'
import {
  documentsOf,
  entriesOf,
  isKeyFile,
  type Judgement,
  joinManifests,
  judgeAll,
  type SavedFile,
  type Trust,
  toSavedFile,
} from './judge.ts'
import { keyPanel } from './key-panel.ts'
import { fill, texts } from './texts.ts'

const FILE_BYTES_MAX = 100 * 1024 * 1024
/** The most documents of one file that are shown at a time. */
const SHOWN_MAX = 100
/** The most invalid documents of a file that are initially open. */
const OPEN_MAX = 10

let files: readonly SavedFile[] = []
let pasted = 0
let runs = 0
const panel = keyPanel(() => void show())
const status = el('p', { id: 'status', role: 'status' })
const list = el('div')
const results = el(
  'section',
  { class: 'results', 'aria-labelledby': 'results-title', hidden: true },
  el('h2', { id: 'results-title', tabindex: '-1' }, texts.results),
  el(
    'div',
    { class: 'bar' },
    status,
    el(
      'div',
      { class: 'buttons' },
      button(texts.print, () => window.print(), 'quiet'),
      button(texts.clear, clear, 'quiet'),
    ),
  ),
  list,
)

async function add(given: Iterable<File>): Promise<void> {
  const read: SavedFile[] = []
  const refused: string[] = []
  for (const file of given) {
    if (file.size > FILE_BYTES_MAX) refused.push(fill(texts.too_large, { name: file.name }))
    else read.push(toSavedFile(file.name, new Uint8Array(await file.arrayBuffer())))
  }
  problem.textContent = refused.join(' ')
  take(read)
}

/** Separates key lists from documents. A file with the same name and content is added once. */
function take(given: readonly SavedFile[]): void {
  for (const file of given) {
    const keys = readKeyList(file.text)
    const only = isKeyFile(file)
    if (keys.length > 0) panel.add({ name: file.name, origin: only ? 'file' : 'bundle', keys })
    const same = files.some(({ name, digest }) => name === file.name && digest === file.digest)
    if (!only && !same) files = [...files, file]
  }
  void show()
}

function clear(): void {
  files = []
  panel.clear()
  void show()
  picker.focus()
}

async function show(): Promise<void> {
  runs += 1
  const run = runs
  results.hidden = files.length === 0
  document.body.classList.toggle('has-results', files.length > 0)
  const parts = files.map(({ text }) => documentsOf(text))
  const documents = joinManifests(parts.flat())
  const trust = { keys: panel.keys(), entries: entriesOf(documents) }
  const all = documents.length
  const judged = await judgeAll(documents, trust, (n) => {
    if (run === runs && n < all) status.textContent = fill(texts.working, { n, all })
  })
  // Files or keys may have changed meanwhile.
  if (run !== runs) return
  let first = 0
  const cards = files.map((file, i) => {
    const count = parts[i]?.length ?? 0
    first += count
    return fileCard(file, judged.slice(first - count, first), trust)
  })
  list.replaceChildren(...cards)
  status.textContent = files.length === 0 ? '' : fill(texts.summary, { n: all, ...tally(judged) })
}

function tally(judged: readonly Judgement[]): Record<Judgement['outcome'], number> {
  const counts = { valid: 0, not_valid: 0, cannot_judge: 0 }
  for (const { outcome } of judged) counts[outcome] += 1
  return counts
}

function fileCard(file: SavedFile, judged: readonly Judgement[], trust: Trust): HTMLElement {
  const [only] = judged
  const outcome = outcomeOf(judged)
  const subject = only && judged.length === 1 ? only : null
  const card = el(
    'article',
    { class: `card ${outcome}` },
    el(
      'header',
      {},
      el('h3', {}, badge(outcome), el('span', { class: 'name' }, file.name)),
      el('p', { class: 'kind' }, subject ? titleOf(subject) : summaryOf(judged)),
      subject ? el('p', {}, explanation(subject)) : null,
    ),
    subject ? cardBody(subject, trust) : documentList(judged, trust),
    el('p', { class: 'digest' }, `${texts.file_digest} `, el('code', {}, file.digest)),
  )
  return card
}

/** The overall outcome: the worst one of the documents. */
function outcomeOf(judged: readonly Judgement[]): Judgement['outcome'] {
  const counts = tally(judged)
  if (counts.not_valid > 0) return 'not_valid'
  return counts.cannot_judge > 0 || judged.length === 0 ? 'cannot_judge' : 'valid'
}

const summaryOf = (judged: readonly Judgement[]): string =>
  fill(texts.summary, { n: judged.length, ...tally(judged) })

/** Lists the documents of one file, invalid ones first. */
function documentList(judged: readonly Judgement[], trust: Trust): HTMLElement {
  const order = { not_valid: 0, cannot_judge: 1, valid: 2 } as const
  const sorted = judged.toSorted((a, b) => order[a.outcome] - order[b.outcome])
  const shown = el('div', { class: 'documents' })
  const extend = (from: number) => {
    const until = from + SHOWN_MAX
    const some = sorted.slice(from, until)
    shown.append(...some.map((one, i) => documentRow(one, { trust, open: from + i < OPEN_MAX })))
    const rest = sorted.length - until
    if (rest <= 0) return
    const more = button(fill(texts.show_more, { n: Math.min(rest, SHOWN_MAX) }), () => {
      more.remove()
      extend(until)
    })
    shown.append(more)
  }
  extend(0)
  return shown
}

function documentRow(
  one: Judgement,
  { trust, open }: { trust: Trust; open: boolean },
): HTMLElement {
  const row = disclosure('', () =>
    el('div', {}, el('p', {}, explanation(one)), cardBody(one, trust)),
  )
  row.classList.add('document')
  const where = one.document.where === '' ? texts.whole : one.document.where
  const title = el('span', { class: 'name' }, `${titleOf(one)}, ${where}`)
  row.firstElementChild?.append(badge(one.outcome), title)
  row.open = open && one.outcome !== 'valid'
  return row
}

const picker = el('input', {
  type: 'file',
  id: 'picker',
  multiple: true,
  class: 'spoken',
  on: {
    change: () => {
      void add([...(picker.files ?? [])])
      picker.value = ''
    },
  },
})
const problem = el('p', { class: 'problem', role: 'alert' })

function documentPanel(): HTMLElement {
  const takeText = (text: string): boolean => {
    pasted += 1
    const name = fill(texts.pasted, { n: pasted })
    take([toSavedFile(name, new TextEncoder().encode(text))])
    return true
  }
  window.addEventListener('paste', (event) => {
    if (event.target instanceof HTMLTextAreaElement) return
    const given = [...(event.clipboardData?.files ?? [])]
    const text = event.clipboardData?.getData('text/plain') ?? ''
    if (given.length > 0) void add(given)
    else if (text.trim() !== '') takeText(text)
  })
  const labels = { label: texts.paste_label, action: texts.paste_add }
  return el(
    'section',
    { class: 'panel', 'aria-labelledby': 'documents-title' },
    el('h2', { id: 'documents-title' }, texts.documents),
    picker,
    el(
      'label',
      { for: 'picker', class: 'drop' },
      el('span', { class: 'arrow', 'aria-hidden': 'true' }),
      el('b', {}, texts.drop),
      el('span', { class: 'link' }, texts.choose),
      el('span', { class: 'quiet' }, texts.kinds),
    ),
    disclosure(texts.paste, () => pasteField('document-text', labels, takeText)),
    problem,
  )
}

function takeDrops(): void {
  const mark = (over: boolean) => document.body.classList.toggle('over', over)
  window.addEventListener('dragover', (event) => {
    event.preventDefault()
    mark(true)
  })
  window.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) mark(false)
  })
  window.addEventListener('drop', (event) => {
    event.preventDefault()
    mark(false)
    void add([...(event.dataTransfer?.files ?? [])])
  })
}

takeDrops()
document.body.append(
  el(
    'header',
    { class: 'head' },
    el('p', { class: 'brand' }, texts.brand),
    el('h1', {}, texts.title),
    el('p', { class: 'lead' }, texts.lead),
    el('p', { class: 'privacy' }, texts.privacy),
  ),
  el('main', {}, el('div', { class: 'panels' }, documentPanel(), panel.element), results),
  el('footer', {}, el('p', {}, texts.footer)),
)

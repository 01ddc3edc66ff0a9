// Demonstrates that a change is noticed: an editable copy of a document with a live verdict.

import { button, el } from './dom.ts'
import { documentsOf, type Judgement, judge, recordOf, type Trust } from './judge.ts'
import { fill, texts } from './texts.ts'

/** The longest document that can be edited. Longer ones are only verified. */
const CHARACTERS_MAX = 200_000
/** The most places to try for a change that the signature covers: some members are not signed. */
const PLACES_MAX = 60

export function textOf({ document }: Judgement): string | null {
  if (document.kind === 'unknown' || document.kind === 'run') return null
  const text =
    document.kind === 'json' ? JSON.stringify(recordOf(document.envelope), null, 2) : document.text
  return text.length > CHARACTERS_MAX ? null : text
}

export function attemptField(original: string, type: string, trust: Trust): HTMLElement {
  const id = `attempt-${type}-${original.length}-${document.querySelectorAll('textarea').length}`
  const field = el('textarea', { id, rows: 12, spellcheck: 'false', autocomplete: 'off' })
  const verdict = el('p', { class: 'attempt', role: 'status' })
  field.value = original
  let edits = 0
  const follow = async (note = '') => {
    edits += 1
    const edit = edits
    const { outcome, reason } = await judgeEdited(field.value, trust)
    if (edit !== edits) return
    verdict.replaceChildren(el('strong', { class: outcome }, texts[outcome]), ` ${note} ${reason}`)
  }
  const change = async () => {
    const found = await findChange(original, trust)
    if (found === null) return
    field.value = found.text
    field.setSelectionRange(found.at, found.at + 1)
    const { at, from, to } = found
    await follow(fill(texts.attempt_done, { from, to, at: at + 1 }))
  }
  field.addEventListener('input', () => void follow())
  const reset = () => {
    field.value = original
    void follow()
  }
  return el(
    'div',
    {},
    el('p', {}, texts.attempt_about),
    el(
      'div',
      { class: 'buttons' },
      button(texts.attempt_change, () => void change()),
      button(texts.attempt_reset, reset, 'quiet'),
    ),
    verdict,
    el('label', { for: id }, texts.attempt_label),
    field,
  )
}

/** Verifies an edited text. If it now contains several documents, the worst outcome counts. */
async function judgeEdited(text: string, trust: Trust) {
  const documents = documentsOf(text)
  const judgements = await Promise.all(documents.map((one) => judge(one, trust)))
  const worst = judgements.find(({ outcome }) => outcome !== 'valid') ?? judgements[0]
  const unread = worst?.document.kind === 'unknown' ? texts.attempt_broken : undefined
  return {
    outcome: worst?.outcome ?? 'cannot_judge',
    reason: unread ?? worst?.verdict?.reason ?? '',
  } as const
}

interface Change {
  readonly text: string
  readonly at: number
  readonly from: string
  readonly to: string
}

/** Changes one letter or digit of a line, line by line, until the document is invalid. */
async function findChange(text: string, trust: Trust): Promise<Change | null> {
  for (const at of placesIn(text).slice(0, PLACES_MAX)) {
    const from = text.charAt(at)
    const to = from === '9' || from === 'z' ? 'a' : String.fromCharCode(from.charCodeAt(0) + 1)
    const changed = text.slice(0, at) + to + text.slice(at + 1)
    if ((await judgeEdited(changed, trust)).outcome === 'not_valid')
      return { text: changed, at, from, to }
  }
  return null
}

/** Positions of a letter or digit near the middle of each value, or of each line of a text. */
function placesIn(text: string): number[] {
  const places: number[] = []
  let start = 0
  for (const line of text.split('\n')) {
    const value = line.indexOf(': ') + 1
    const middle = value + Math.floor((line.length - value) / 2)
    const found = line.slice(middle).search(/[0-9a-z]/)
    if (found >= 0) places.push(start + middle + found)
    start += line.length + 1
  }
  return places
}

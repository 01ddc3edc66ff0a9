// One judged document: the verdict, each check, what stays open, who signed, and what to look into;
// and an editable copy whose verdict follows, which shows that a change is noticed.

import {
  certificateBytes,
  cgrAttestationBytes,
  type Envelope,
  factId,
  fromHex,
  isObject,
  isText,
  type PublishedKey,
  readBase64,
  type SavedDocument,
  sha256,
  toHex,
  utf8,
  type Verdict,
} from '@custos/proof'
import { button, disclosure, el, rows } from './dom.ts'
import { documentsOf, type Judgement, judge, recordOf, type Trust } from './judge.ts'
import { checkText, fill, kindText, problemText, texts } from './texts.ts'

const VALUE_CHARACTERS = 160
const MARKS = { valid: '✓', not_valid: '✕', cannot_judge: '?' } as const

/** The verdict in one word, with a mark that does not depend on colour. */
export function badge(outcome: Judgement['outcome']): HTMLElement {
  const mark = el('span', { class: 'mark', 'aria-hidden': 'true' }, MARKS[outcome])
  return el('strong', { class: `badge ${outcome}` }, mark, texts[outcome])
}

export function explanation({ outcome, obstacle, document }: Judgement): string {
  if (obstacle !== null) {
    const why = document.kind === 'unknown' ? document.reason : ''
    return fill(texts[obstacle], { why })
  }
  return outcome === 'valid' ? texts.says_valid : texts.says_not_valid
}

export function cardBody(judgement: Judgement, trust: Trust): HTMLElement {
  const { verdict, type } = judgement
  const body = el('div', { class: 'card-body' })
  if (verdict !== null) body.append(...verdictParts(judgement, verdict, trust.keys))
  const message = signedMessageOf(judgement.document)
  if (message !== null) body.append(disclosure(texts.signed, () => signedView(message)))
  const facts = factsOf(judgement)
  if (facts.length > 0) body.append(disclosure(texts.content, () => rows(facts)))
  const text = textOf(judgement)
  if (text !== null && verdict !== null)
    body.append(disclosure(texts.attempt, () => attemptField(text, type, trust)))
  return body
}

function verdictParts(
  { document, outcome }: Judgement,
  verdict: Verdict,
  keys: readonly PublishedKey[],
): Node[] {
  const record = document.kind === 'json' ? recordOf(document.envelope) : null
  const lines = verdict.checks.map((check) => checkLine(check, record, outcome))
  const open = verdict.not_checked.map((text) => el('li', {}, text))
  return [
    el('h4', {}, texts.checks),
    el('ul', { class: 'checks' }, ...lines),
    el('h4', {}, texts.not_checked),
    el('ul', { class: 'open' }, ...open, el('li', {}, texts.not_checked_ever)),
    ...signers(verdict, keys),
  ]
}

const LINE_MARKS = { ok: '✓', failed: '✕', undecided: '○' } as const

/** If there is no verdict, a check that failed because of missing keys is undecided. */
function checkLine(
  { name, ok, detail }: Verdict['checks'][number],
  record: unknown,
  outcome: Judgement['outcome'],
): HTMLElement {
  const state = ok ? 'ok' : outcome === 'not_valid' ? 'failed' : 'undecided'
  const text = el('span', {}, state === 'ok' ? null : texts[state], checkText(name))
  const mark = el('span', { class: 'mark', 'aria-hidden': 'true' }, LINE_MARKS[state])
  if (ok) text.append(el('span', { class: 'spoken' }, `: ${texts.holds}`))
  else {
    const value = memberText(name, record)
    const why = el('p', {}, problemText(detail ?? texts.unmet))
    if (value !== null) why.append(` · ${texts.in_the_file} `, el('code', {}, value))
    text.append(why)
  }
  return el('li', { class: state }, mark, text)
}

/** The member that a failed check is about, as the file has it. */
function memberText(name: string, record: unknown): string | null {
  if (!isObject(record)) return null
  const [last = name, side] = name.split('.').reverse()
  const part = side !== undefined && isObject(record[side]) ? record[side] : record
  const member = last === 'key_known' ? 'key_id' : last
  if (!Object.hasOwn(part, member)) return null
  return `${member} = ${shorten(JSON.stringify(part[member]) ?? '')}`
}

const shorten = (text: string): string =>
  text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)}…` : text

function signers({ valid_with }: Verdict, keys: readonly PublishedKey[]): Node[] {
  if (valid_with.length === 0) return []
  const pairs = [...new Set(valid_with)].map((id) => {
    const key = keys.find(({ key_id }) => key_id === id)
    const period = fill(texts.key_period, {
      purpose: key?.purpose.replaceAll('_', ' ') ?? '',
      from: dayOf(key?.valid_from ?? ''),
      until: key?.retired_at ? dayOf(key.retired_at) : texts.today,
    })
    return [id, period] as const
  })
  return [el('h4', {}, texts.signed_by), rows(pairs)]
}

const dayOf = (time: string): string => time.slice(0, 10)

// The bytes that a document's signature covers, for readers who want to see them.

/** The signed bytes; null if nothing in the document is signed or it cannot be read. */
function signedMessageOf(document: SavedDocument): Uint8Array | null {
  try {
    if (document.kind === 'checkpoint') return noteBody(document.text)
    if (document.kind === 'tlog_proof')
      return noteBody(document.text.slice(document.text.indexOf('\n\n') + 2))
    return document.kind === 'json' ? messageOf(document.envelope) : null
  } catch {
    return null
  }
}

function messageOf(envelope: Envelope): Uint8Array | null {
  const record = recordOf(envelope)
  if (!isObject(record)) return null
  const shown = readBase64(record['signed_bytes'])
  if (shown !== null) return shown
  if (envelope.type === 'certificate') return certificateBytes(record)
  if (envelope.type === 'attestation') return cgrAttestationBytes(record)
  if (envelope.type === 'consistency') {
    const { to } = record
    return isObject(to) ? noteBody(String(to['checkpoint'])) : null
  }
  const { checkpoint, decision_id, receipt_id, content, tenant_id } = record
  if (isText(checkpoint)) return noteBody(checkpoint)
  if (envelope.type === 'decision' && isText(decision_id)) return fromHex(decision_id)
  if (envelope.type === 'receipt' && isText(receipt_id)) return fromHex(receipt_id)
  if (envelope.type === 'memory' && isText(content))
    return factId(content, isText(tenant_id) ? tenant_id : null)
  return nestedMessage(record)
}

/** The signed bytes of a registry row, which contains the signed document. */
function nestedMessage(record: Readonly<Record<string, unknown>>): Uint8Array | null {
  const { document } = record
  return isObject(document) ? readBase64(document['signed_bytes']) : null
}

/** The signed part of a note: up to and including the line feed before the empty line. */
function noteBody(note: string): Uint8Array | null {
  const end = note.indexOf('\n\n')
  return end < 0 ? null : utf8(note.slice(0, end + 1))
}

function signedView(message: Uint8Array): HTMLElement {
  const digest = toHex(sha256(message))
  const view = el('div', {}, el('p', {}, fill(texts.signed_about, { n: message.length, digest })))
  const text = printable(message)
  if (text === null) view.append(el('p', {}, texts.signed_binary))
  view.append(el('pre', { tabindex: '0' }, text ?? toHex(message)))
  return view
}

function printable(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // A 16-byte identifier may be valid text by chance.
    return bytes.length > 16 ? text : null
  } catch {
    return null
  }
}

/** The members of the record that are plain values, in their order. */
function factsOf({ document }: Judgement): (readonly [string, string])[] {
  const record = document.kind === 'json' ? recordOf(document.envelope) : null
  if (!isObject(record)) return []
  const hidden = ['signature', 'public_key', 'signed_bytes', 'checkpoint', 'tlog_proof']
  const source = isObject(record['document']) ? record['document'] : record
  return Object.entries(source)
    .filter(([name]) => !hidden.includes(name))
    .map(([name, value]) => [
      name,
      shorten(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')),
    ])
}

export const titleOf = ({ type }: Judgement): string => kindText(type)

/** The longest document that can be edited. Longer ones are only verified. */
const CHARACTERS_MAX = 200_000
/** The most places to try for a change that the signature covers: some members are not signed. */
const PLACES_MAX = 60

function textOf({ document }: Judgement): string | null {
  if (document.kind === 'unknown' || document.kind === 'run') return null
  const text =
    document.kind === 'json' ? JSON.stringify(recordOf(document.envelope), null, 2) : document.text
  return text.length > CHARACTERS_MAX ? null : text
}

function attemptField(original: string, type: string, trust: Trust): HTMLElement {
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

/** Changes one letter or digit of a line, line by line, until the document is invalid. */
async function findChange(text: string, trust: Trust) {
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

// Recognises what a file holds: answers of the API, a checkpoint or a proof as text.

import { detectEnvelope, type Envelope } from '@custos/proof'

export type Document =
  | { readonly kind: 'json'; readonly where: string; readonly envelope: Envelope }
  | { readonly kind: 'checkpoint'; readonly where: string; readonly text: string }
  | { readonly kind: 'tlog_proof'; readonly where: string; readonly text: string }
  | { readonly kind: 'unknown'; readonly where: string; readonly reason: string }

const TLOG_PROOF = 'c2sp.org/tlog-proof@'
// A signed note: the text, an empty line, lines that start with an em dash.
const SIGNED_NOTE = /^[^\n{[]+\n[0-9]+\n[^\n]+\n[\s\S]*\n— /

/** `where` names the part of a file that a document is, and is empty when it is the whole. */
export function readDocuments(text: string): Document[] {
  if (text.startsWith(TLOG_PROOF)) return [{ kind: 'tlog_proof', where: '', text }]
  if (SIGNED_NOTE.test(text)) return [{ kind: 'checkpoint', where: '', text }]
  const whole = parse(text)
  if (whole !== undefined) return [recognise(whole, '')]
  return readLines(text)
}

function readLines(text: string): Document[] {
  const lines = text.split('\n').map((line, i) => ({ line: line.trim(), where: `line ${i + 1}` }))
  const filled = lines.filter(({ line }) => line !== '')
  if (filled.length < 2) return [{ kind: 'unknown', where: '', reason: 'not JSON' }]
  const values = filled.map(({ line, where }) => ({ where, value: parse(line) }))
  // Entries of a log are checked as the chain they form, a manifest with what it lists.
  const chain = detectEnvelope(values.map(({ value }) => value))
  const whole = chain?.type === 'breadcrumbs' || chain?.type === 'erasure_manifest'
  if (chain && whole) return [{ kind: 'json', where: '', envelope: chain }]
  return values
    .filter(({ value }, i) => i > 0 || !isExportHeader(value))
    .map(({ value, where }) =>
      value === undefined
        ? { kind: 'unknown', where, reason: 'not JSON' }
        : recognise(value, where),
    )
}

function recognise(value: unknown, where: string): Document {
  const envelope = detectEnvelope(value)
  if (envelope) return { kind: 'json', where, envelope }
  return { kind: 'unknown', where, reason: 'nothing in it can be verified' }
}

function isExportHeader(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'custos_export' in value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

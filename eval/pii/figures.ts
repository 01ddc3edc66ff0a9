// Precision, recall and leaks of findings of personal data against labelled spans.

import type { LabelledSpan, LabelledText } from '../data/pii.ts'

export interface DetectedSpan {
  readonly entity: string
  readonly start: number
  readonly end: number
}

/** The entities that answer to a label of the set; a label without any is not looked for. */
export const LABELS: Readonly<Record<string, readonly string[]>> = {
  CREDIT_CARD: ['CREDIT_CARD'],
  IBAN_CODE: ['IBAN_CODE'],
  EMAIL_ADDRESS: ['EMAIL_ADDRESS'],
  DOMAIN_NAME: ['URL'],
  IP_ADDRESS: ['IP_ADDRESS'],
  US_SSN: ['US_SSN', 'US_ITIN'],
  US_DRIVER_LICENSE: ['US_DRIVER_LICENSE'],
  PHONE_NUMBER: ['PHONE_NUMBER'],
  ZIP_CODE: ['ZIP_CODE', 'UK_POSTCODE'],
  DATE_TIME: ['DATE_TIME'],
  AGE: ['AGE'],
  STREET_ADDRESS: ['STREET_ADDRESS'],
  PERSON: ['PERSON'],
  GPE: ['LOCATION'],
  ORGANIZATION: ['ORGANIZATION'],
  TITLE: [],
  NRP: [],
}

export interface TypeFigures {
  readonly label: string
  readonly entities: readonly string[]
  readonly spans: number
  readonly found: number
  /** Spans found with both ends right, findings that are right; the same where they overlap. */
  readonly exact: number
  readonly exact_found: number
  readonly touched: number
  readonly touched_found: number
  /** Spans of which a character remains after redaction, whatever the entity that covers it. */
  readonly leaks: number
}

export interface LabelMismatch {
  readonly kind: 'missed' | 'unlabelled'
  readonly name: string
  readonly at: number
  readonly text: string
}

export interface PiiFigures {
  readonly rows: readonly TypeFigures[]
  readonly details: readonly LabelMismatch[]
}

type Recognise = (text: string) => readonly DetectedSpan[]
type Labels = Readonly<Record<string, readonly string[]>>

export function measure(
  texts: readonly LabelledText[],
  look: Recognise,
  labels: Labels,
): PiiFigures {
  const looked = texts.map((labelled) => ({ ...labelled, found: look(labelled.text) }))
  const rows = Object.entries(labels).map(([label, entities]): TypeFigures => {
    const row = { label, entities, spans: 0, found: 0, leaks: 0 }
    const right = { exact: 0, exact_found: 0, touched: 0, touched_found: 0 }
    for (const { spans, found } of looked) {
      const labelled = spans.filter((span) => span.label === label)
      const answers = found.filter(({ entity }) => entities.includes(entity))
      row.spans += labelled.length
      row.found += answers.length
      row.leaks += labelled.filter((span) => leaks(span, found)).length
      right.exact += countMatches(labelled, answers, isSame)
      right.exact_found += countMatches(answers, labelled, isSame)
      right.touched += countMatches(labelled, answers, overlaps)
      right.touched_found += countMatches(answers, labelled, overlaps)
    }
    return { ...row, ...right }
  })
  const details = looked.flatMap(({ text, spans, found }, at) => [
    ...spans
      .filter((span) => !found.some((other) => overlaps(span, other)))
      .map((span) => ({ kind: 'missed' as const, name: span.label, at, text: around(text, span) })),
    ...found
      .filter((one) => !spans.some((span) => overlaps(span, one)))
      .map((one) => ({
        kind: 'unlabelled' as const,
        name: one.entity,
        at,
        text: around(text, one),
      })),
  ])
  return { rows, details }
}

interface Range {
  readonly start: number
  readonly end: number
}

function countMatches(
  ranges: readonly Range[],
  among: readonly Range[],
  matches: (a: Range, b: Range) => boolean,
): number {
  return ranges.filter((range) => among.some((other) => matches(range, other))).length
}

function isSame(a: Range, b: Range): boolean {
  return a.start === b.start && a.end === b.end
}

function overlaps(a: Range, b: Range): boolean {
  return a.start < b.end && b.start < a.end
}

function leaks(span: LabelledSpan, found: readonly DetectedSpan[]): boolean {
  let covered = 0
  for (const { start, end } of found)
    covered += Math.max(0, Math.min(end, span.end) - Math.max(start, span.start))
  return covered < span.end - span.start
}

const SHOWN = 40

function around(text: string, { start, end }: Range): string {
  const before = text.slice(Math.max(0, start - SHOWN), start)
  return JSON.stringify(`${before}[${text.slice(start, end)}]${text.slice(end, end + SHOWN / 2)}`)
}

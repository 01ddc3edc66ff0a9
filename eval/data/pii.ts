// A labelled set of sentences with personal data: read where it lies, nothing of it is kept here.

import { existsSync, readFileSync } from 'node:fs'
import Type from 'typebox'
import { sha256 } from './dataset.ts'
import { readerOf } from './shape.ts'

const readSentences = readerOf(
  Type.Array(
    Type.Object({
      full_text: Type.String(),
      spans: Type.Array(
        Type.Object({
          entity_type: Type.String(),
          start_position: Type.Integer(),
          end_position: Type.Integer(),
        }),
      ),
    }),
  ),
)

export interface LabelledSpan {
  readonly label: string
  /** Offsets in the text, UTF-16. */
  readonly start: number
  readonly end: number
}

export interface LabelledText {
  readonly text: string
  readonly spans: readonly LabelledSpan[]
}

export interface LabelledSet {
  readonly sha256: string
  readonly bytes: number
  readonly texts: readonly LabelledText[]
}

/** Null where the file is not there. */
export function readLabelled(path: string): LabelledSet | null {
  if (!existsSync(path)) return null
  const bytes = readFileSync(path)
  const texts = readSentences(JSON.parse(bytes.toString('utf8'))).map(({ full_text, spans }) => ({
    text: full_text,
    spans: spans.map((span) => inUnits(full_text, span)),
  }))
  return { sha256: sha256(bytes), bytes: bytes.length, texts }
}

/** The set counts code points. */
function inUnits(
  text: string,
  span: { entity_type: string; start_position: number; end_position: number },
): LabelledSpan {
  const points = Array.from(text)
  const start = points.slice(0, span.start_position).join('').length
  const end = points.slice(0, span.end_position).join('').length
  return { label: span.entity_type, start, end }
}

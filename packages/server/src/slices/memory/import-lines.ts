// Reads an import: NDJSON lines off a byte stream, each checked, the first bad one named.

import { ExportHeader, IMPORT_LINES_MAX, ImportLine, limits } from '@custos/contract'
import { Compile } from 'typebox/compile'
import { parseTime } from '../../platform/clock.ts'
import { Refusal } from '../../platform/refusal.ts'
import { readNamespace } from './namespace.ts'
import { checkLimits, type FactDraft } from './prepare-facts.ts'

export interface ImportedFact {
  /** 1-based number of the line. */
  readonly line: number
  readonly draft: FactDraft
  readonly ref: number | null
  readonly superseded_by: number | null
  readonly valid_from_us: number | null
  readonly valid_until_us: number | null
  readonly bytes: number
}

const line = Compile(ImportLine)
const header = Compile(ExportHeader)

/** Refuses `import_refused` with the number of the line that cannot be taken. */
export const importRefused = (number: number, why: string): Refusal =>
  new Refusal('import_refused', `line ${number}: ${why}`, { members: { line: number } })

/** The facts of the stream, in the order of its lines; empty lines and a header are passed over. */
export async function* readImport(
  tenant_id: string,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ImportedFact> {
  let number = 0
  for await (const text of splitLines(body)) {
    number += 1
    if (number > IMPORT_LINES_MAX)
      throw importRefused(number, `an import has ${IMPORT_LINES_MAX} lines at most`)
    if (text.trim() === '') continue
    const value = parseLine(text, number)
    if (number === 1 && header.Check(value)) continue
    yield toFact(tenant_id, value, { number, bytes: text.length })
  }
}

function parseLine(text: string, number: number): unknown {
  if (text.includes('\0') || text.includes('\\u0000') || !text.isWellFormed())
    throw importRefused(number, 'U+0000 and broken Unicode are not taken')
  try {
    return JSON.parse(text)
  } catch {
    throw importRefused(number, 'not valid JSON')
  }
}

function toFact(
  tenant_id: string,
  value: unknown,
  at: { number: number; bytes: number },
): ImportedFact {
  if (!line.Check(value)) {
    const [error] = line.Errors(value)
    throw importRefused(at.number, `${error?.instancePath || 'the line'} ${error?.message ?? ''}`)
  }
  const written_at = value.source?.original_written_at ?? value.written_at
  const original = us(written_at)
  try {
    const draft = {
      content: value.content,
      metadata: value.metadata ?? {},
      namespace: foreignNamespace(tenant_id, value),
      ...(original === null ? {} : { original_written_us: original }),
    }
    checkLimits(draft, [])
    return {
      line: at.number,
      draft,
      ref: value.ref ?? null,
      superseded_by: value.superseded_by ?? null,
      valid_from_us: us(value.valid_from),
      valid_until_us: us(value.valid_until),
      bytes: at.bytes,
    }
  } catch (error) {
    if (error instanceof Refusal) throw importRefused(at.number, reasonOf(error))
    throw error
  }
}

function reasonOf(refusal: Refusal): string {
  const { detail } = refusal.extras
  const [first] = Array.isArray(detail) ? detail : []
  return typeof first?.msg === 'string' ? first.msg : refusal.message
}

const us = (time: string | null | undefined): number | null => (time ? parseTime(time) : null)

/** An export names its own tenant: `T` and `T/x` of another tenant become root and x here. */
function foreignNamespace(tenant_id: string, value: ImportLine): string | null {
  const wire = value.tenant_id
  if (value.namespace != null || wire == null) return readNamespace(tenant_id, value)
  const slash = wire.indexOf('/')
  return slash === -1 ? null : readNamespace(tenant_id, { namespace: wire.slice(slash + 1) })
}

async function* splitLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let number = 0
  for await (const chunk of body) {
    rest += decode(decoder, chunk, number + 1)
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      number += 1
      yield bounded(text, number)
    }
    bounded(rest, number + 1)
  }
  rest += decode(decoder, undefined, number + 1)
  if (rest !== '') yield bounded(rest, number + 1)
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array | undefined, number: number): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw importRefused(number, 'not UTF-8')
  }
}

function bounded(text: string, number: number): string {
  if (text.length > limits.import_line_bytes)
    throw importRefused(number, `a line has ${limits.import_line_bytes} characters at most`)
  return text
}

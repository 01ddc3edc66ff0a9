// Reads an import: NDJSON lines off a byte stream, each checked, the first bad one named.

import { ExportHeader, IMPORT_LINES_MAX, ImportLine, limits } from '@custos/contract'
import { Compile } from 'typebox/compile'
import { parseTime } from '../../platform/clock.ts'
import { Refusal } from '../../platform/refusal.ts'
import { readNamespace } from './namespace.ts'
import { plainJsonProblem } from './plain-json.ts'
import { checkLimits, type FactDraft } from './prepare-facts.ts'

export interface ImportedFact {
  /** 1-based number of the line. */
  readonly line: number
  readonly draft: FactDraft
  readonly ref: number | null
  readonly superseded_by: number | null
  /** When it began, or at least was written; null: from the moment of the import. */
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
  const value = parse(text, number)
  const problem = plainJsonProblem(value)
  if (problem !== null) throw importRefused(number, problem)
  if (typeof value === 'object' && value !== null && 'signing_key' in value)
    throw importRefused(number, 'private keys are never accepted in a request')
  return value
}

function parse(text: string, number: number): unknown {
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
      ...interval(at.number, us(value.valid_from) ?? original, us(value.valid_until)),
      bytes: at.bytes,
    }
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'import_refused')
      throw importRefused(at.number, reasonOf(error))
    throw error
  }
}

function interval(number: number, valid_from_us: number | null, valid_until_us: number | null) {
  if (valid_until_us !== null && valid_from_us === null)
    throw importRefused(number, 'valid_until needs valid_from or written_at')
  if (valid_until_us !== null && valid_until_us <= (valid_from_us ?? 0))
    throw importRefused(number, 'valid_until must come after valid_from')
  return { valid_from_us, valid_until_us }
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

const LINE_FEED = 0x0a

// Cut as bytes and decoded line by line, so that the line that is not UTF-8 can be named.
async function* splitLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Uint8Array[] = []
  let [bytes, number] = [0, 1]
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      assertBounded(bytes + end - start, number)
      yield decode([...rest, chunk.subarray(start, end)], number)
      rest = []
      bytes = 0
      number += 1
      start = end + 1
    }
    rest.push(chunk.subarray(start))
    bytes += chunk.length - start
    assertBounded(bytes, number)
  }
  if (bytes > 0) yield decode(rest, number)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decode(pieces: readonly Uint8Array[], number: number): string {
  try {
    return utf8.decode(Buffer.concat(pieces))
  } catch {
    throw importRefused(number, 'not UTF-8')
  }
}

function assertBounded(bytes: number, number: number): void {
  if (bytes > limits.import_line_bytes)
    throw importRefused(number, `a line has ${limits.import_line_bytes} bytes at most`)
}

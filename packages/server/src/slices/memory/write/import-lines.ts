// Parses an import: NDJSON lines of a byte stream and their version chains. The refusal names the
// first line that cannot be imported.

import { ExportHeader, IMPORT_LINES_MAX, type ImportLine, limits, memory } from '@custos/contract'
import { Compile } from 'typebox/compile'
import { type Clock, parseTime } from '../../../platform/clock.ts'
import { findJsonProblem } from '../../../platform/input/json-text.ts'
import { compileDropper } from '../../../platform/input/tolerated-names.ts'
import { parseNamespace } from '../../../platform/namespace.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { type Detail, Shape } from '../../../platform/validation.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import type { FactDraft } from '../facts/fact-document.ts'
import { checkFactLimits, parseExpiry } from '../facts/prepare-facts.ts'

export interface ImportedFact {
  /** 1-based line number. */
  readonly line: number
  readonly draft: FactDraft
  readonly ref: number | null
  readonly superseded_by: number | null
  /** `valid_from`, or else the time of the write. `null` means the time of the import. */
  readonly valid_from_us: number | null
  readonly valid_until_us: number | null
  readonly bytes: number
}

const { body, tolerated } = memory.import
const line = Compile(body)
const shape = new Shape(body)
const dropTolerated = compileDropper(tolerated, 'body')
const header = Compile(ExportHeader)

/** Makes the refusal `import_refused` with the number of the line that cannot be imported. */
export const importLineRefusal = (number: number, why: string): Refusal =>
  new Refusal('import_refused', `line ${number}: ${why}`, { members: { line: number } })

/**
 * Yields the facts of the stream in line order; skips empty lines and a header. Yields to other
 * requests between lines, however many lines arrive at once.
 */
export async function* readImport(
  { tenant_id, clock }: { tenant_id: string; clock: Clock },
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ImportedFact> {
  const pace = yieldBetweenChunks()
  let number = 0
  for await (const text of splitLines(body)) {
    await pace()
    number += 1
    if (number > IMPORT_LINES_MAX)
      throw importLineRefusal(number, `an import has ${IMPORT_LINES_MAX} lines at most`)
    if (text.trim() === '') continue
    const value = parseLine(text, number)
    if (number === 1 && header.Check(value)) continue
    yield toFact(tenant_id, value, { number, bytes: text.length, now_us: clock.now() })
  }
}

function parseLine(text: string, number: number): unknown {
  const value = parse(text, number)
  const problem = findJsonProblem(text, value)
  if (problem !== null) throw importLineRefusal(number, problem.msg)
  if (typeof value === 'object' && value !== null && 'signing_key' in value)
    throw importLineRefusal(number, 'private keys are never accepted in a request')
  return value
}

function parse(text: string, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw importLineRefusal(number, 'not valid JSON')
  }
}

function toFact(
  tenant_id: string,
  value: unknown,
  at: { number: number; bytes: number; now_us: number },
): ImportedFact {
  dropTolerated?.(value)
  if (!line.Check(value)) {
    const why = shape.findProblems(value).slice(0, 1).map(explain).join()
    throw importLineRefusal(at.number, why)
  }
  const written_at = value.source?.original_written_at ?? value.written_at
  const original = parseOptionalTime(written_at)
  const valid_from_us = parseOptionalTime(value.valid_from) ?? original
  try {
    const draft = {
      content: value.content,
      metadata: value.metadata ?? {},
      namespace: parseForeignNamespace(tenant_id, value),
      ...parseExpiry(value, { now_us: at.now_us, valid_from_us, loc: [] }),
      ...(original === null ? {} : { original_written_us: original }),
      ...(value.item && { item: value.item }),
    }
    const problem = draft.item && findItemProblem(draft)
    if (problem) throw importLineRefusal(at.number, problem)
    checkFactLimits(draft, [])
    return {
      line: at.number,
      draft,
      ref: value.ref ?? null,
      superseded_by: value.superseded_by ?? null,
      ...interval(at.number, valid_from_us, parseOptionalTime(value.valid_until)),
      bytes: at.bytes,
    }
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'import_refused')
      throw importLineRefusal(at.number, explainRefusal(error))
    throw error
  }
}

/** Returns why a line cannot be a version of an item, or `null` if it can. */
function findItemProblem({ content, metadata, namespace }: FactDraft): string | null {
  if (namespace !== null || Object.keys(metadata).length > 0)
    return 'a version of an item has neither metadata nor a namespace of the store'
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return null
  } catch {
    // Invalid JSON is reported like JSON that is not an object.
  }
  return 'the content of a version of an item is the JSON of an object'
}

/** Leaves out the caller's keys: the refusal is stored under the idempotency key of the import. */
function explain({ loc, msg, type }: Detail): string {
  const declared = type === 'extra_forbidden' ? loc.slice(0, -1) : loc
  return `${declared.join('.') || 'the line'}: ${msg}`
}

function interval(number: number, valid_from_us: number | null, valid_until_us: number | null) {
  if (valid_until_us !== null && valid_from_us === null)
    throw importLineRefusal(number, 'valid_until needs valid_from or written_at')
  if (valid_until_us !== null && valid_until_us <= (valid_from_us ?? 0))
    throw importLineRefusal(number, 'valid_until must come after valid_from')
  return { valid_from_us, valid_until_us }
}

function explainRefusal(refusal: Refusal): string {
  const { detail } = refusal.extras
  const [first] = Array.isArray(detail) ? detail : []
  return typeof first?.msg === 'string' ? first.msg : refusal.message
}

const parseOptionalTime = (time: string | null | undefined): number | null =>
  time ? parseTime(time) : null

/** Maps `T` and `T/x` in the export of another tenant T to the root namespace and x. */
function parseForeignNamespace(tenant_id: string, value: ImportLine): string | null {
  const wire = value.tenant_id
  if (value.namespace != null || wire == null) return parseNamespace(tenant_id, value)
  const slash = wire.indexOf('/')
  return slash === -1 ? null : parseNamespace(tenant_id, { namespace: wire.slice(slash + 1) })
}

const LINE_FEED = 0x0a

// Splits bytes before decoding each line, so that a refusal can name a line that is not UTF-8.
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
    throw importLineRefusal(number, 'not UTF-8')
  }
}

function assertBounded(bytes: number, number: number): void {
  if (bytes > limits.import_line_bytes)
    throw importLineRefusal(number, `a line must not exceed ${limits.import_line_bytes} bytes`)
}

interface LinkedVersion {
  readonly valid_from_us: number
  readonly namespace: string | null
}

/**
 * Checks the version chains line by line: each version has at most one successor and one
 * predecessor, in its own namespace, and a successor begins later, so that no chain is a cycle.
 */
export class ImportLinks {
  readonly #versions = new Map<number, LinkedVersion>()
  readonly #predecessors = new Map<number, LinkedVersion>()

  /** Adds a line. Returns why it contradicts earlier lines, or `null` if it does not. */
  add(fact: ImportedFact): string | null {
    const { ref, superseded_by, valid_from_us } = fact
    if (ref === null) return superseded_by === null ? null : 'a superseded memory needs its own ref'
    if (this.#versions.has(ref)) return `the ref ${ref} occurs twice`
    // A memory without times becomes valid at the import, after everything in the file.
    const version = {
      valid_from_us: valid_from_us ?? Number.POSITIVE_INFINITY,
      namespace: fact.draft.namespace,
    }
    this.#versions.set(ref, version)
    const before = this.#predecessors.get(ref)
    return (
      (before ? findLinkProblem(before, version) : null) ??
      (superseded_by === null ? null : this.#addLink(version, superseded_by))
    )
  }

  #addLink(version: LinkedVersion, superseded_by: number): string | null {
    if (this.#predecessors.has(superseded_by)) return `${superseded_by} has two predecessors`
    this.#predecessors.set(superseded_by, version)
    const successor = this.#versions.get(superseded_by)
    return successor ? findLinkProblem(version, successor) : null
  }
}

function findLinkProblem(version: LinkedVersion, successor: LinkedVersion): string | null {
  if (version.namespace !== successor.namespace) return 'a version chain crosses namespaces'
  return version.valid_from_us < successor.valid_from_us
    ? null
    : 'a successor must begin after its predecessor'
}

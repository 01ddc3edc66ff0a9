// Caller-written texts outside memories and decisions: how a subject request finds them, shows
// them, and redacts the records that hold them.
//
// A redacted record is sealed under a key that no record secret is part of (`REDACTED_SECRET`), and
// its sealed content names nobody. The secret that sealed its texts before is destroyed, so that no
// copy of the data can open them. A slice describes its records once, with `textSource`.

import type { TextKind } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import type { TenantDb, Tx } from '../db/tenant-db.ts'
import { type Kernel, perKernel } from './kernel.ts'
import { REDACTED_SECRET } from './sealed-column.ts'

/** Replaces a text that was redacted. */
export const REDACTED_TEXT = '[REDACTED — GDPR Article 17]'

/** A stored record, opened. */
export interface SealedText {
  readonly id: string
  /** The store that the record is about, or null. */
  readonly store_id: string | null
  readonly created_us: number | null
  /** True while the record must be kept, whatever its store: a policy that is in force. */
  readonly held: boolean
  /** The record secret that a redaction destroys; null if the record has none of its own. */
  readonly secret_no: number | null
  /** The namespace it is limited to (null is the root); undefined if it belongs to no namespace. */
  readonly namespace?: string | null | undefined
  readonly content: JsonObject
}

/** The sealed columns that a redaction stores in place of the texts, in the order of the source. */
export type RedactedColumns = readonly [Buffer, ...Buffer[]]

/** All records of one kind. */
export interface TextSource {
  readonly kind: TextKind
  /** Whether each of its records is limited to a namespace. */
  readonly namespaced?: boolean
  /** Records that are not redacted, in batches; no read stays open between them. */
  scan(kernel: Kernel, tenant_id: string): AsyncGenerator<readonly SealedText[]>
  /** Returns null if there is no such record or it does not open. */
  find(kernel: Kernel, tenant_id: string, id: string): Promise<SealedText | 'redacted' | null>
  /** Returns null if the record is gone, already redacted, or does not open. */
  prepare(kernel: Kernel, tenant_id: string, id: string): Promise<RedactedColumns | null>
  /** Returns false if the record is gone or was redacted before. Needs no key. */
  apply(tx: Tx, id: string, columns: RedactedColumns, kernel: Kernel): Promise<boolean>
}

interface SourceRow {
  /** Null if the row is sealed under the secret of its store. */
  readonly secret_no: number | null
}

/** `R`: a row; `P`: the payload. */
interface SourceSpec<R extends SourceRow, P> {
  readonly kind: TextKind
  /** Callers may replace the texts of a row, so a redaction covers only those under one secret. */
  readonly replaceable?: true
  /** How many rows are opened at once. */
  readonly batch?: number
  /** Rows in the order of their ids, after the row `after`. */
  list(db: TenantDb, after: R | null, limit: number): Promise<R[]>
  find(db: TenantDb, id: string): Promise<R | undefined>
  idOf(row: R): string
  storeOf?(row: R): string | null
  createdUs?(row: R): number
  isHeld?(row: R): boolean
  /** The namespace that a row is limited to; null for the root. */
  namespaceOf?(content: P): string | null
  /** Payloads in the order of `rows`; null where one does not open. */
  open(kernel: Kernel, tenant_id: string, rows: readonly R[]): Promise<readonly (P | null)[]>
  /** Converts the content to the form that is searched and shown; by default it is unchanged. */
  show?(content: P, row: R): JsonObject
  /** Seals the content that remains. */
  redact(kernel: Kernel, tenant_id: string, given: { row: R; content: P }): Promise<RedactedColumns>
  /** Stores the columns with `secret_no: REDACTED_SECRET`. */
  update(tx: Tx, row: R, columns: RedactedColumns, kernel: Kernel): Promise<unknown>
}

const BATCH = 50
/** Stands for the secret in the id of a row that has no secret of its own. */
const SHARED = 'store'

const isRedacted = ({ secret_no }: SourceRow): boolean => secret_no === REDACTED_SECRET

export function textSource<R extends SourceRow, P extends JsonObject>(
  spec: SourceSpec<R, P>,
): TextSource {
  const { kind } = spec
  /** Returns undefined if the row does not open. */
  const openOne = async (kernel: Kernel, tenant_id: string, row: R) =>
    (await openAll(spec, kernel, tenant_id, [row]))[0]
  const findOne = (kernel: Kernel, tenant_id: string, id: string) =>
    kernel.db.read(tenant_id, (db) => findRow(spec, db, id))
  return {
    kind,
    namespaced: spec.namespaceOf !== undefined,
    scan: (kernel, tenant_id) => scan(spec, kernel, tenant_id),
    async find(kernel, tenant_id, id) {
      const row = await findOne(kernel, tenant_id, id)
      if (!row) return null
      if (isRedacted(row)) return 'redacted'
      const opened = await openOne(kernel, tenant_id, row)
      return opened ? toText(spec, opened) : null
    },
    async prepare(kernel, tenant_id, id) {
      const row = await findOne(kernel, tenant_id, id)
      if (!row || isRedacted(row)) return null
      const opened = await openOne(kernel, tenant_id, row)
      return opened ? spec.redact(kernel, tenant_id, opened) : null
    },
    async apply(tx, id, columns, kernel) {
      const row = await findRow(spec, tx, id)
      if (!row || isRedacted(row)) return false
      await spec.update(tx, row, columns, kernel)
      return true
    },
  }
}

async function* scan<R extends SourceRow, P extends JsonObject>(
  spec: SourceSpec<R, P>,
  kernel: Kernel,
  tenant_id: string,
): AsyncGenerator<readonly SealedText[]> {
  const { batch = BATCH } = spec
  for (let after: R | null = null; ; ) {
    const last: R | null = after
    const rows: R[] = await kernel.db.read(tenant_id, (db) => spec.list(db, last, batch))
    const unredacted = rows.filter((row) => !isRedacted(row))
    const opened = await openAll(spec, kernel, tenant_id, unredacted)
    yield opened.map((one) => toText(spec, one))
    after = rows.at(-1) ?? null
    if (rows.length < batch) return
  }
}

const toText = <R extends SourceRow, P extends JsonObject>(
  spec: SourceSpec<R, P>,
  { row, content }: { row: R; content: P },
): SealedText => ({
  id: spec.replaceable ? `${spec.idOf(row)}@${row.secret_no ?? SHARED}` : spec.idOf(row),
  store_id: spec.storeOf?.(row) ?? null,
  created_us: spec.createdUs?.(row) ?? null,
  held: spec.isHeld?.(row) ?? false,
  secret_no: row.secret_no,
  namespace: spec.namespaceOf?.(content),
  content: spec.show?.(content, row) ?? content,
})

async function openAll<R extends SourceRow, P extends JsonObject>(
  spec: SourceSpec<R, P>,
  kernel: Kernel,
  tenant_id: string,
  rows: readonly R[],
): Promise<{ row: R; content: P }[]> {
  const contents = await spec.open(kernel, tenant_id, rows)
  return rows.flatMap((row, i) => {
    const content = contents[i]
    return content ? [{ row, content }] : []
  })
}

async function findRow<R extends SourceRow, P extends JsonObject>(
  { find, replaceable }: SourceSpec<R, P>,
  db: TenantDb,
  id: string,
): Promise<R | undefined> {
  if (!replaceable) return find(db, id)
  const at = id.lastIndexOf('@')
  const row = await find(db, id.slice(0, at))
  const same = row && (isRedacted(row) || String(row.secret_no ?? SHARED) === id.slice(at + 1))
  return same ? row : undefined
}

const registered = perKernel(() => new Map<TextKind, TextSource>())

/** Call it once, when the kernel is assembled. */
export function registerTextSources(kernel: Kernel, sources: readonly TextSource[]): void {
  for (const source of sources) registered(kernel).set(source.kind, source)
}

/** Every kind of record whose texts can name a person. */
export const listTextSources = (kernel: Kernel): TextSource[] => [...registered(kernel).values()]

/** Returns undefined for a kind that this version does not know. */
export const findTextSource = (kernel: Kernel, kind: TextKind): TextSource | undefined =>
  registered(kernel).get(kind)

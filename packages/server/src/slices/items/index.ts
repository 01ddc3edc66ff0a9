// The face of the items slice: JSON values under names. Their versions are memories. The puts and
// deletions of one request are one unit of work, all or none.

import {
  type BatchOperation,
  type DeleteItem,
  type DeleteResult,
  type items,
  limits,
  type PutItem,
  type PutResult,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { type Loc, validationDetail } from '../../platform/validation.ts'
import { eraseListed, fillReasons } from '../erasure/index.ts'
import { admitItems, redactedOr } from '../governance/index.ts'
import {
  countPending,
  digestName,
  findStore,
  listVersionRefs,
  loadReadableStore,
  loadTargetHead,
  loadWriteTarget,
  type PreparedItem,
  parseExpiry,
  prepareFacts,
  putItem,
  requireCapability,
  retryOnStoreConflict,
  type StoredItem,
} from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { admitReads, answerRead, get, type ItemRead, namespaces, search } from './reads.ts'

/** A change of one name, and its location in the request. */
interface PutChange {
  readonly op: 'put'
  readonly put: PutItem
  readonly loc: Loc
}
type Change = PutChange | { readonly op: 'delete'; readonly name: DeleteItem }

const nameOf = ({ namespace, key }: DeleteItem): string => JSON.stringify([namespace, key])

/** What a retry of the request returns for each change. */
interface StoredChanges {
  readonly [key: string]: unknown
  readonly puts: readonly StoredItem[]
  /** Refs of the versions of each deleted name, oldest first. */
  readonly erased: readonly (readonly number[])[]
}

/** Only `applyChanges` writes these ids. */
const storedChanges = (ids: Readonly<Record<string, unknown>>) => ids as StoredChanges

/** Refuses `store_not_found` and `store_deleting`. */
async function loadChangedStore(call: Call, store_id: string) {
  // Cached settings do not say that the store is being deleted, and a deletion of items would wait
  // for the deletion of the store to end.
  const store = await call.read((db) => findStore(db, store_id))
  if (store?.state === 'deleting') throw new Refusal('store_deleting')
  return loadWriteTarget(call.kernel, call.tenant_id, store_id)
}

/** Applies the changes. Each name may have at most one change. */
async function changeItems(
  call: Call,
  store_id: string,
  changes: readonly Change[],
): Promise<{ puts: readonly PutResult[]; deletions: readonly DeleteResult[] }> {
  const { settings } = await loadChangedStore(call, store_id)
  const puts = changes.filter((change) => change.op === 'put')
  const names = changes.flatMap((change) => (change.op === 'delete' ? [change.name] : []))
  if (puts.length > 0) requireCapability(settings, 'supersession_chain', call.operation.id)
  if (names.length > 0) requireCapability(settings, 'hard_delete', call.operation.id)
  const admitted = await admitPuts(call, store_id, puts)
  const contexts = names.map(() => ({ store_id }))
  if (contexts.length > 0) await admitItems(call, 'memory.delete', contexts)
  return retryOnStoreConflict(() => applyChanges(call, store_id, { puts: admitted, names }))
}

/** Returns the puts with redactions applied. Refuses like `admitItems`, and redacted names. */
async function admitPuts(
  call: Call,
  store_id: string,
  puts: readonly PutChange[],
): Promise<PutChange[]> {
  for (const { put, loc } of puts)
    if (Buffer.byteLength(JSON.stringify(put.value)) > limits.content_bytes)
      throw validationDetail(
        [...loc, 'value'],
        `value has ${limits.content_bytes} bytes of JSON at most`,
        'too_long',
      )
  if (puts.length === 0) return []
  const contexts = puts.map(({ put: { namespace, key, value } }) => {
    return { store_id, content: value, metadata: { namespace, key } }
  })
  const redactions = await admitItems(call, 'memory.write', contexts)
  return puts.map((change, i) => {
    if (redactions[i]?.['metadata'] !== undefined)
      throw new Refusal('rejected', 'a policy redacts the name of the item: choose another one')
    const value = redactedOr(redactions[i], 'content', change.put.value)
    return { ...change, put: { ...change.put, value } }
  })
}

async function applyChanges(
  call: Call,
  store_id: string,
  { puts, names }: { puts: readonly PutChange[]; names: readonly DeleteItem[] },
) {
  const { kernel, tenant_id, operation } = call
  const target = await loadWriteTarget(kernel, tenant_id, store_id)
  const keys = await kernel.keyring.tenant(tenant_id)
  const prepared = await preparePuts(call, target.settings, puts)
  const digests = names.map((name) => digestName(keys, store_id, name))

  const run = async (tx: Tx): Promise<StoredChanges> => {
    const stored: StoredItem[] = []
    let head = puts.length > 0 ? await loadTargetHead(kernel, tx, target) : null
    for (const item of prepared) {
      if (head === null) break
      const one = await putItem(kernel, tx, head, item)
      meter(tx, operation.id, item.fact.bytes)
      stored.push(one)
      head = { ...head, head_seq: one.log_seq }
    }
    const erased = []
    for (const { name_mac } of digests) {
      meter(tx, operation.id)
      erased.push(await listVersionRefs(tx, { store_id, name_mac }))
    }
    return { puts: stored, erased }
  }
  return countPending(kernel, { tenant_id, store_id }, puts.length, async () => {
    if (names.length > 0) return eraseChanges(call, run)
    const changes = await call.once({
      run: async (tx) => {
        const ids = await run(tx)
        return { reply: ids, ids }
      },
      replay: async (_, ids) => storedChanges(ids),
    })
    return { puts: changes.puts.map(showPut), deletions: [] }
  })
}

async function eraseChanges(call: Call, run: (tx: Tx) => Promise<StoredChanges>) {
  const { ids, certificates } = await eraseListed(call, {
    reasons: fillReasons({}),
    async list(tx) {
      const ids = await run(tx)
      return { refs: ids.erased.flat(), ids }
    },
  })
  const { puts, erased } = storedChanges(ids)
  const deletions = erased.map((refs) => ({
    deleted: refs.length > 0,
    certificate_ids: refs.flatMap((ref) => certificates.get(ref) ?? []),
  }))
  return { puts: puts.map(showPut), deletions }
}

async function preparePuts(
  call: Call,
  settings: Parameters<typeof prepareFacts>[2],
  puts: readonly PutChange[],
): Promise<PreparedItem[]> {
  const { kernel, tenant_id } = call
  const { store_id } = settings
  const keys = await kernel.keyring.tenant(tenant_id)
  const now_us = kernel.clock.now()
  const drafts = puts.map(({ put, loc }) => ({
    content: JSON.stringify(put.value),
    metadata: {},
    namespace: null,
    ...parseExpiry(put, { now_us, valid_from_us: null, loc }),
    item: {
      namespace: put.namespace,
      key: put.key,
      ...(put.index === undefined ? {} : { index: put.index }),
    },
  }))
  const author = { tenant_id, principal: call.principal.key_id }
  const facts = drafts.length > 0 ? await prepareFacts(kernel, author, settings, drafts) : []
  return puts.flatMap(({ put }, i) => {
    const fact = facts[i]
    return fact ? [{ fact, if_ref: put.if_ref, ...digestName(keys, store_id, put) }] : []
  })
}

const showPut = ({ ref, created, created_us, updated_us, log_seq }: StoredItem): PutResult => ({
  ref,
  created,
  created_at: formatTime(created_us),
  updated_at: formatTime(updated_us),
  log_seq,
})

/** Returns the put or deletion of a batch operation, or null for a read. */
function changeOf(operation: BatchOperation, loc: Loc): Change | null {
  if (operation.op === 'put') {
    const { op, ...put } = operation
    return { op, put, loc }
  }
  if (operation.op !== 'delete') return null
  const { op, ...name } = operation
  return { op, name }
}

const put: Handler<typeof items.put> = async (call, { params, body }) => {
  const change = { op: 'put', put: body, loc: ['body'] } as const
  const { puts } = await changeItems(call, params.store_id, [change])
  const [result] = puts
  if (!result) throw new Error('one put has one result')
  return result
}

const deleteItem: Handler<(typeof items)['delete']> = async (call, { params, body }) => {
  const change = { op: 'delete', name: body } as const
  const { deletions } = await changeItems(call, params.store_id, [change])
  return deletions[0] ?? { deleted: false, certificate_ids: [] }
}

/** Reads see the items before the batch. Of several changes of one name the last one wins. */
const batch: Handler<typeof items.batch> = async (call, { params, body }) => {
  const { store_id } = params
  const { operations } = body
  if (operations.every(isRead))
    await call.read((db) => loadReadableStore(call.kernel, db, store_id))
  else await loadChangedStore(call, store_id)
  const last = lastChanges(operations)
  const reads = operations.flatMap((operation, i) =>
    isRead(operation) ? [{ read: operation, loc: ['body', 'operations', i], i }] : [],
  )
  await admitReads(
    call,
    store_id,
    reads.map(({ read }) => read),
  )
  const results = new Map<number, ItemResult>()
  await call.read(async (db) => {
    for (const { i, ...one } of reads) results.set(i, await answerRead(call, db, store_id, one))
  })
  const changes = [...last.values()].flatMap((i) => {
    const operation = operations[i]
    const change = operation && changeOf(operation, ['body', 'operations', i])
    return change ? [{ change, i }] : []
  })
  if (changes.length > 0) {
    const all = changes.map(({ change }) => change)
    const { puts, deletions } = await changeItems(call, store_id, all)
    const [put, deleted] = [puts.values(), deletions.values()]
    for (const { change, i } of changes) {
      const result = change.op === 'put' ? put.next().value : deleted.next().value
      if (result) results.set(i, result)
    }
  }
  return {
    results: operations.map((operation, i) => {
      const holds = isRead(operation) ? i : (last.get(nameOf(operation)) ?? i)
      const isSame = operations[holds]?.op === operation.op
      const found = isSame ? results.get(holds) : undefined
      return found ?? (operation.op === 'delete' ? NOTHING : { item: null })
    }),
    count: operations.length,
  }
}

/** Position of the last change of each name. Refuses a condition that the last change lacks. */
function lastChanges(operations: readonly BatchOperation[]): Map<string, number> {
  const last = new Map<string, number>()
  for (const [i, operation] of operations.entries())
    if (!isRead(operation)) last.set(nameOf(operation), i)
  for (const [i, operation] of operations.entries()) {
    if (operation.op !== 'put' || operation.if_ref === undefined) continue
    const holds = operations[last.get(nameOf(operation)) ?? i]
    if (holds?.op === 'put' && holds.if_ref === operation.if_ref) continue
    const message = 'a later operation changes the item: it would not have this condition'
    throw validationDetail(['body', 'operations', i, 'if_ref'], message, 'value_error')
  }
  return last
}

type ItemResult =
  | Awaited<ReturnType<typeof answerRead>>
  | Awaited<ReturnType<typeof changeItems>>['puts'][number]
  | typeof NOTHING
const NOTHING: { deleted: boolean; certificate_ids: string[] } = {
  deleted: false,
  certificate_ids: [],
}

const isRead = (operation: BatchOperation): operation is BatchOperation & ItemRead =>
  operation.op !== 'put' && operation.op !== 'delete'

export const itemsHandlers = {
  put,
  get,
  search,
  delete: deleteItem,
  namespaces,
  batch,
} satisfies HandlersOf<typeof items>

// The items slice: JSON values under names. Versions of items are stored as memories.

import type { BatchOperation, items } from '@custos/contract'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { validationDetail } from '../../platform/validation.ts'
import { loadReadableStore } from '../memory/index.ts'
import { changeItems, changeOf, loadChangedStore, nameOf } from './change-items.ts'
import { admitReads, answerRead, get, type ItemRead, namespaces, search } from './reads.ts'

type Items = typeof items

const put: Handler<Items['put']> = async (call, { params, body }) => {
  const change = { op: 'put', put: body, loc: ['body'] } as const
  const { puts } = await changeItems(call, params.store_id, [change])
  const [result] = puts
  if (!result) throw new Error('one put has one result')
  return result
}

const deleteItem: Handler<Items['delete']> = async (call, { params, body }) => {
  const change = { op: 'delete', name: body } as const
  const { deletions } = await changeItems(call, params.store_id, [change])
  return deletions[0] ?? { deleted: false, certificate_ids: [] }
}

/** Reads see the items before the batch. Of several changes of one name the last one wins. */
const batch: Handler<Items['batch']> = async (call, { params, body }) => {
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
} satisfies HandlersOf<Items>

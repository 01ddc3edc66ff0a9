// Generates the operation table of the Python client.

import type { OperationSpec } from '@custos/contract'
import { isRecord } from './client-types.ts'

const HEAD = `"""The operations of the service. Generated from the contract by \`npm run generate\`.

By id: method, path, whether it may be repeated, whether it takes an Idempotency-Key, and the names
of its query.
"""

OPERATIONS: dict[str, tuple[str, str, bool, bool, tuple[str, ...]]] = {
`

/** Leaves out operations whose body or answer is a stream or signed bytes. */
export function pythonOperations(operations: readonly OperationSpec[]): string {
  const plain = operations.filter(
    ({ raw_body, body_type, reply_type, status }) =>
      status !== 302 &&
      !raw_body &&
      body_type !== 'application/x-ndjson' &&
      reply_type !== 'text/event-stream' &&
      reply_type !== 'application/octet-stream',
  )
  const rows = plain.map((operation) => {
    const { id, method, path, idempotent = false, safe = false, query } = operation
    const names =
      isRecord(query) && isRecord(query['properties']) ? Object.keys(query['properties']) : []
    const repeatable = method !== 'POST' || idempotent || safe
    const members = [
      JSON.stringify(method),
      JSON.stringify(path),
      truth(repeatable),
      truth(idempotent),
      `(${names
        .map((name) => `${JSON.stringify(name)}, `)
        .join('')
        .trimEnd()})`,
    ]
    return `    ${JSON.stringify(id)}: (${members.join(', ')}),\n`
  })
  return `${HEAD}${rows.sort().join('')}}\n`
}

const truth = (value: boolean): string => (value ? 'True' : 'False')

// Canaries in addresses, filters, headers and broken requests: refused, and kept nowhere.

import assert from 'node:assert/strict'
import type { OperationSpec } from '@custos/contract'
import type { Client } from '../../../crash/testing/client.ts'
import { exampleOf } from '../../contract/examples.ts'
import { operations, pathOf, queryOf, type Sent } from '../../contract/testing/table.ts'
import { GHOSTS } from '../../contract/testing/world.ts'
import type { Canaries } from './canaries.ts'
import { textPlaces } from './text-places.ts'

export interface WrongParts {
  readonly client: Client
  readonly operator: Client
  readonly canaries: Canaries
}

const isOperators = ({ access }: OperationSpec) =>
  access === 'operator' || access === 'operator_or_self'

/** Sends each parameter of each operation; the answers of those that were refused. */
export async function sendParameters(parts: WrongParts): Promise<string[]> {
  const answers: string[] = []
  for (const operation of operations)
    for (const place of textPlaces(operation)) {
      const [where = '', name = ''] = place.split('.')
      if (where !== 'params' && where !== 'query' && name !== 'x-request-id') continue
      answers.push(await sendParameter(parts, operation, place))
    }
  return answers
}

async function sendParameter(
  parts: WrongParts,
  operation: OperationSpec,
  place: string,
): Promise<string> {
  const { canaries } = parts
  const example = exampleOf(operation.id, GHOSTS)
  const [where, name = ''] = place.split('.')
  if (where === 'headers') {
    const headers = { ...example.headers, [name]: canaries.label(operation.id, place) }
    return answerTo(parts, operation, { ...example, headers })
  }
  const word = canaries.mark(operation.id, place)
  if (where === 'params')
    return answerTo(parts, operation, { ...example, params: { ...example.params, [name]: word } })
  return answerTo(parts, operation, { ...example, query: { ...example.query, [name]: word } })
}

async function answerTo(
  { client, operator }: WrongParts,
  operation: OperationSpec,
  sent: Sent,
): Promise<string> {
  const path = `${pathOf(operation, sent)}${queryOf(sent)}`
  const raw = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body))
  const { status, text } = await (isOperators(operation) ? operator : client).raw(
    operation.method,
    path,
    {
      raw: raw === undefined ? undefined : String(raw),
      type: operation.body_type ?? 'application/json',
      headers: sent.headers,
    },
  )
  assertNoFault({ status, text }, operation.id)
  return status >= 400 ? text : ''
}

/** Nobody takes payments here: that is the one refusal of the service's side. */
function assertNoFault({ status, text }: { status: number; text: string }, said: string): void {
  const isUnpaid = status === 503 && text.includes('"billing_not_configured"')
  assert.ok(status < 500 || isUnpaid, `${said}: ${status} ${text}`)
}

/** Bodies no operation takes, with the canary as value and as key. */
const wrongBodies = (word: string): string[] => [
  `{"content": "${word}`,
  JSON.stringify([word, { [word]: word }]),
  JSON.stringify(word),
  JSON.stringify({ [word]: { [word]: word }, content: { [word]: word }, old_ref: word, ref: word }),
  JSON.stringify({ items: [{ content: word, options: { valid_from: word } }], fact_ref: word }),
  JSON.stringify({ query: word, budget_tokens: word, options: { as_of: word, [word]: word } }),
  JSON.stringify({ content: word, options: { metadata: word } }),
  JSON.stringify({ store_id: `${word}\u0000`, model_id: `${word}\n`, query: word, output: word }),
  `{"content": "${word} \\ud800", "${word}": 1e999}`,
]

/** Sends broken bodies to every operation and asks for what does not exist; the answers. */
export async function sendBroken({ client, operator, canaries }: WrongParts): Promise<string[]> {
  const answers: string[] = []
  const word = canaries.mark('every operation', 'broken body')
  for (const operation of operations) {
    const path = pathOf(operation, exampleOf(operation.id, GHOSTS))
    if (operation.method === 'GET') continue
    for (const raw of wrongBodies(word)) {
      const type = operation.body_type ?? 'application/json'
      const asking = isOperators(operation) ? operator : client
      const { status, text } = await asking.raw(operation.method, path, { raw, type })
      assertNoFault({ status, text }, `${operation.id} after ${raw}`)
      // The place of a name that is not declared ends with that name.
      if (status >= 400) answers.push(text.replaceAll(/"loc":\[[^\]]*\]/g, ''))
    }
  }
  const nowhere = canaries.mark('no operation', 'path')
  for (const path of [`/v1/${nowhere}`, `/v1/stores/${nowhere}/${nowhere}`, `/${nowhere}?a=b`])
    for (const method of ['GET', 'POST', 'PUT'])
      answers.push((await client.raw(method, path, { raw: undefined, type: '' })).text)
  return answers
}

// What every sender is given, and the texts it puts its canaries into.

import assert from 'node:assert/strict'
import type { Answer, Client, Sent } from '../../../crash/testing/client.ts'
import { operationOf } from '../../contract/testing/table.ts'
import type { Ids } from '../../contract/testing/world.ts'
import type { Canaries } from './canaries.ts'
import { unusedPlaces } from './text-places.ts'

/** What was made with canaries in it. */
export interface Made {
  readonly stores: string[]
  readonly refs: number[]
  readonly decisions: string[]
  /** Refs that only decisions name. */
  readonly labels: number[]
  /** Ids of records, approvers and agents, several of a kind. */
  readonly kept: Partial<Ids>[]
}

export interface SendParts {
  readonly client: Client
  readonly operator: Client
  readonly canaries: Canaries
  readonly made: Made
}

/** Marks for the places of one operation. */
export function marks({ canaries }: Pick<SendParts, 'canaries'>, operation: string) {
  return {
    text: (place: string) => `${canaries.mark(operation, place)} walks by the river`,
    word: (place: string) => canaries.mark(operation, place),
    label: (place: string) => canaries.label(operation, place),
    json: (place: string) => {
      const word = canaries.mark(operation, `${place}{}`)
      return { [word]: { nested: [word, `${word}Upper`] } }
    },
    headers: () => ({ 'idempotency-key': canaries.mark(operation, 'headers.idempotency-key') }),
  }
}

/** Every field that an operation accepts and does not use, with canaries. */
export function unusedFields(parts: Pick<SendParts, 'canaries'>, operation: string): object {
  const { text } = marks(parts, operation)
  const fields: Record<string, unknown> = {}
  for (const place of unusedPlaces(operationOf(operation))) {
    const [name = '', inner] = place.slice('body.'.length, -1).split('.')
    fields[name] =
      inner === undefined ? text(place) : { ...Object(fields[name]), [inner]: text(place) }
  }
  return fields
}

/** Sends the same twice under one key; both answers must have the status and be alike. */
export async function twice(
  { client }: Pick<SendParts, 'client'>,
  { status, path }: { readonly status: number; readonly path: string },
  sent: Sent,
): Promise<Answer['body']> {
  const first = await answered({ client }, { status, path }, sent)
  assert.deepEqual(await answered({ client }, { status, path }, sent), first, `${path} repeated`)
  return first
}

export async function answered(
  { client }: Pick<SendParts, 'client'>,
  { status, path }: { readonly status: number; readonly path: string },
  sent: Sent,
): Promise<Answer['body']> {
  const { status: got, body, text } = await client.ask('POST', path, sent)
  assert.equal(got, status, `${path}: ${text.slice(0, 1_000)}`)
  return body
}

/** A request that is refused, with an answer that repeats none of its words. */
export async function refused(
  { client, canaries }: Pick<SendParts, 'client' | 'canaries'>,
  path: string,
  sent: Sent,
): Promise<Answer['body']> {
  const { status, body, text } = await client.ask('POST', path, sent)
  assert.ok(status >= 400 && status < 500, `${path}: ${status} ${text}`)
  assert.deepEqual(canaries.foundIn(text), [], `${path} repeats: ${text}`)
  return body
}

// memory_forget: a person confirms by a form, or the caller by a second call with a signed token.

import { createHash } from 'node:crypto'
import { isRefusal } from '@custos/client'
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import Type, { type Static } from 'typebox'
import type { Session } from './session.ts'
import { failed, fence, result, type ToolCall } from './tool.ts'

const CONFIRM_SECONDS = 600
const PREVIEW_CHARS = 200

export const ForgetInput = Type.Object(
  {
    ref: Type.Integer({ minimum: 0, description: 'Number of the memory' }),
    reason: Type.Optional(
      Type.String({ description: 'Legal basis, kept in the certificate: name no person' }),
    ),
    confirm_token: Type.Optional(
      Type.String({ description: 'From the first reply, once a person has agreed' }),
    ),
  },
  { additionalProperties: false },
)

const NullableText = Type.Union([Type.String(), Type.Null()])

export const ForgetOutput = Type.Object({
  outcome: Type.String(),
  certificate_id: NullableText,
  coverage: Type.Record(Type.String(), Type.String()),
  confirm_token: Type.Optional(Type.String()),
})

/** The erasure that is confirmed: exactly this content of this memory. */
interface Confirmation {
  readonly ref: number
  readonly content_hash: string
}

/** Signs confirmations. The protocol library also verifies with it what a client sends back. */
export const confirmations = (session: Session): RequestStateCodec<Confirmation> =>
  createRequestStateCodec<Confirmation>({
    key: session.confirm_key,
    ttlSeconds: CONFIRM_SECONDS,
  })

const Form = Type.Object({
  confirm: Type.Boolean({ title: 'Erase it', description: 'This cannot be undone' }),
  reason: Type.Optional(Type.String({ title: 'Reason', description: 'Name no person' })),
})

export async function forget(
  { ref, reason, confirm_token }: Static<typeof ForgetInput>,
  call: ToolCall,
): Promise<CallToolResult | InputRequiredResult> {
  const { session, context } = call
  const memory = await findMemory(session, ref)
  if (memory === null) return findCertificate(session, ref)
  const confirmed: Confirmation = { ref, content_hash: hashOf(memory.content) }
  const codec = confirmations(session)
  const answer = inputResponse(context.mcpReq.inputResponses, 'confirm')
  if (answer.kind === 'elicit') {
    if (answer.action !== 'accept' || answer.content?.['confirm'] !== true) return kept(ref)
    if (!isSame(context.mcpReq.requestState<Confirmation>(), confirmed))
      return failed('The memory has changed meanwhile. Ask again.', { code: 'changed' })
    const given = answer.content['reason']
    return erase(session, ref, typeof given === 'string' && given !== '' ? given : reason)
  }
  if (confirm_token !== undefined) {
    const state = await codec.verify(confirm_token, context).catch(() => null)
    if (state === null || !isSame(state, confirmed))
      return failed('The confirm_token is not of this memory or has expired. Ask again.', {
        code: 'confirm_token_invalid',
      })
    return erase(session, ref, reason)
  }
  const preview = await previewOf(session, memory)
  const token = await codec.mint(confirmed, context)
  if (!canAsk(call))
    return result(
      { outcome: 'not_confirmed', certificate_id: null, coverage: {}, confirm_token: token },
      `Nothing is erased yet. Show this to the person and, only if they agree, call again with ` +
        `confirm_token.\n${preview}`,
    )
  const ask = inputRequired.elicit({ message: preview, requestedSchema: fromJsonSchema(Form) })
  return inputRequired({ inputRequests: { confirm: ask }, requestState: token })
}

const hashOf = (content: string): string => createHash('sha256').update(content).digest('hex')

const isSame = (one: Confirmation | undefined, other: Confirmation): boolean =>
  one?.ref === other.ref && one.content_hash === other.content_hash

const kept = (ref: number): CallToolResult =>
  result(
    { outcome: 'not_confirmed', certificate_id: null, coverage: {} },
    `Memory ${ref} is kept: the person did not agree.`,
  )

async function findMemory(session: Session, ref: number) {
  try {
    const memory = await session.custos.memory.memory(session.store, ref)
    return session.reaches(memory) ? memory : null
  } catch (error) {
    if (isRefusal(error, 'memory_not_found')) return null
    throw error
  }
}

/** Finds the certificate of an earlier erasure, which a repeated call shows again. */
async function findCertificate(session: Session, ref: number): Promise<CallToolResult> {
  const unknown = () => failed(`Memory not found. There is no memory ${ref}.`)
  // A certificate does not name a namespace.
  if (session.options.namespace !== undefined) return unknown()
  try {
    const { outcome, certificate_id, coverage, store_id } = await session.custos.erasure.byFact(ref)
    if (store_id !== session.store) return unknown()
    return result({ outcome, certificate_id, coverage }, `Memory ${ref} was erased before.`)
  } catch (error) {
    if (isRefusal(error, 'certificate_not_found')) return unknown()
    throw error
  }
}

async function erase(session: Session, ref: number, reason?: string): Promise<CallToolResult> {
  const issued = await session.custos.erasure.issue({
    fact_ref: ref,
    store_id: session.store,
    ...(reason === undefined ? {} : { legal_basis: reason }),
  })
  const { outcome, certificate_id, coverage } = issued
  return result(
    { outcome, certificate_id, coverage },
    `Memory ${ref}: ${outcome}. Certificate ${certificate_id}.`,
  )
}

async function previewOf(session: Session, memory: { ref: number; content: string }) {
  const start = memory.content.slice(0, PREVIEW_CHARS)
  const holds = session.may('compliance:read')
    ? await session.custos.retention.holds(session.store, { standing: true, limit: 1 })
    : null
  const held = holds?.holds.length ? '\nA legal hold stands: the erasure will be refused.' : ''
  return `Erase memory ${memory.ref} for ever?${held}\n${fence(start)}`
}

/** Whether the client declared forms: with the request, or when it connected. */
function canAsk({ context, server }: ToolCall): boolean {
  const declared =
    Object(context.mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY] ??
    server.server.getClientCapabilities()
  const { elicitation } = Object(declared)
  if (elicitation === undefined) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}

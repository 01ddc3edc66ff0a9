// Checks that the bytes to sign match the shown proposal: the browser recomputes digest and bytes.

import type { ApprovalsRequestReply } from '@custos/client/types'

export type ApprovalDecision = 'approve' | 'deny'

export const bytesOfBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

export const textOfBytes = (bytes: Uint8Array): string => String.fromCharCode(...bytes)

export const hexOfBytes = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Canonical JSON by RFC 8785. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  const parts = members.map(([name, of]) => `${JSON.stringify(name)}:${canonicalJson(of)}`)
  return `{${parts.join(',')}}`
}

/** The text of the bytes to sign. */
export const messageOf = (request: ApprovalsRequestReply, decision: ApprovalDecision): string =>
  new TextDecoder().decode(bytesOfBase64(request.signing_input[decision]))

/** The reason why the bytes must not be signed; null if they match. */
export async function mismatchOf(request: ApprovalsRequestReply): Promise<string | null> {
  const { proposal, proposal_digest: digest, context } = request
  const bytes = new TextEncoder().encode(canonicalJson(proposal))
  const made = hexOfBytes(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
  if (made !== digest || context['proposal_digest'] !== digest)
    return 'The digest is not that of the proposal shown.'
  for (const decision of ['approve', 'deny'] as const)
    if (!messageOf(request, decision).endsWith(canonicalJson({ ...context, decision })))
      return 'The bytes to sign are not those of the decision shown.'
  return null
}

// The approver's key of this browser: Ed25519, kept in IndexedDB in a form that cannot be exported;
// and whether what it is to sign is what is shown.

import type { ApprovalsRequestReply } from '@custos/client/types'

export interface SigningKey {
  readonly approver_id: string
  readonly name: string
  readonly private_key: CryptoKey
}

const DATABASE = 'custos-approver'
const KEYS = 'keys'
const ALGORITHM = { name: 'Ed25519' } as const

function openKeys(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore(KEYS)
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = () => reject(opening.error)
  })
}

/** Runs one request. Its writes are durable when the promise resolves. */
async function inKeys<T>(
  mode: IDBTransactionMode,
  run: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const database = await openKeys()
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(KEYS, mode)
      const request = run(transaction.objectStore(KEYS))
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error)
    })
  } finally {
    database.close()
  }
}

/** The key for a tenant. A browser that is used for several tenants has one key for each. */
export const findKey = (tenant: string): Promise<SigningKey | undefined> =>
  inKeys('readonly', (keys) => keys.get(tenant) as IDBRequest<SigningKey | undefined>)

export const keepKey = (tenant: string, key: SigningKey) =>
  inKeys('readwrite', (keys) => keys.put(key, tenant))

export const forgetKey = (tenant: string) => inKeys('readwrite', (keys) => keys.delete(tenant))

/**
 * The public key has 64 hexadecimal digits. Throws where the browser has no Ed25519, or where the
 * page has no secure context.
 */
export async function makeKeyPair() {
  const pair = await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify'])
  if (!('privateKey' in pair)) throw new Error('The browser made no key pair.')
  const raw = await crypto.subtle.exportKey('raw', pair.publicKey)
  return { private_key: pair.privateKey, public_key: hexOfBytes(new Uint8Array(raw)) }
}

/** Signs bytes given in base64; the signature is in base64 too. */
export async function signBytes({ private_key }: SigningKey, message: string): Promise<string> {
  const bytes = await crypto.subtle.sign(ALGORITHM, private_key, bytesOfBase64(message))
  return btoa(textOfBytes(new Uint8Array(bytes)))
}

export type ApprovalDecision = 'approve' | 'deny'

const bytesOfBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

const textOfBytes = (bytes: Uint8Array): string => String.fromCharCode(...bytes)

const hexOfBytes = (bytes: Uint8Array): string =>
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

/** Null, or why the bytes must not be signed: digest and bytes are made from the proposal shown. */
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

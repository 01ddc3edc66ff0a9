// The approver's key of this browser: Ed25519, kept in IndexedDB in a form that cannot be exported.

import { bytesOfBase64, hexOfBytes, textOfBytes } from './signed-bytes.ts'

export interface SigningKey {
  readonly approver_id: string
  readonly name: string
  readonly private_key: CryptoKey
}

interface NewKeyPair {
  readonly private_key: CryptoKey
  /** The public key in 64 hexadecimal digits. */
  readonly public_key: string
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

/** Makes a key pair. Throws if the browser has no Ed25519 or the page no secure context. */
export async function makeKeyPair(): Promise<NewKeyPair> {
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

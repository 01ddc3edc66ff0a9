// Creates Ed25519 signing keys and signs with them.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { KEY_BYTES } from './wrap.ts'

// RFC 8410 section 7: the fixed prefix of a PKCS#8 Ed25519 key, followed by the 32-byte seed.
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

export interface SigningKey {
  readonly key_id: string
  readonly public_key: Buffer
  readonly private_key: KeyObject
}

export function newSeed(): Buffer {
  return randomBytes(KEY_BYTES)
}

/** The key of a 32-byte seed (RFC 8032 section 5.1.5). */
export function signingKeyOf(seed: Buffer): SigningKey {
  const der = Buffer.concat([PKCS8_HEAD, seed])
  const private_key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  der.fill(0)
  const spki = createPublicKey(private_key).export({ format: 'der', type: 'spki' })
  const public_key = Buffer.from(spki.subarray(spki.length - KEY_BYTES))
  return { key_id: keyIdOf(public_key), public_key, private_key }
}

/** First 8 bytes of SHA-256(public key), lower hex: the key name that @custos/proof uses. */
export function keyIdOf(public_key: Uint8Array): string {
  return createHash('sha256').update(public_key).digest('hex').slice(0, 16)
}

/** Returns a deterministic signature of 64 bytes. */
export function signWith(key: SigningKey, message: Uint8Array): Buffer {
  return sign(null, message, key.private_key)
}

/** The same in a thread of the libuv pool. */
export const signInPool = (key: SigningKey, message: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    sign(null, message, key.private_key, (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })

/** A client's key at an identity provider (private_key_jwt), so that no shared secret can leak. */
interface ClientKey {
  /** PKCS #8 in base64. */
  readonly private_key: string
  /** RFC 7517. */
  readonly public_jwk: Readonly<Record<'kty' | 'crv' | 'x' | 'y' | 'kid' | 'alg' | 'use', string>>
}

/** Creates a key for ES256. */
export function newClientKey(kid: string): ClientKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kty = '', crv = '', x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return {
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    public_jwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' },
  }
}

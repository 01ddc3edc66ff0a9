// Creates Ed25519 signing keys and signs with them; loads one from its owner's file: PKCS#8 in PEM
// (RFC 8410, RFC 7468).

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createFileDurably } from './durable-file.ts'
import { KeyringError } from './keyring-error.ts'
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
  return withPublicKey(private_key)
}

function withPublicKey(private_key: KeyObject): SigningKey {
  const spki = createPublicKey(private_key).export({ format: 'der', type: 'spki' })
  const public_key = Buffer.from(spki.subarray(spki.length - KEY_BYTES))
  return { key_id: keyIdOf(public_key), public_key, private_key }
}

/** First 8 bytes of SHA-256(public key), lower hex: the key name that @custos/proof uses. */
function keyIdOf(public_key: Uint8Array): string {
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

/**
 * Of a client at a provider (private_key_jwt), for ES256: nothing that could leak is shared. PKCS
 * #8 in base64, and the public key by RFC 7517.
 */
export function newClientKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kty = '', crv = '', x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return {
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    public_jwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' },
  }
}

export interface OwnSigner {
  /** 32 bytes. */
  readonly public_key: Buffer
  readonly key_id: string
  /** True if this call created the key. */
  readonly created: boolean
  /** 64 bytes. */
  sign(message: Uint8Array): Buffer
}

/**
 * Loads the key from the file, or creates the file with mode 0600. Without a path the key is new
 * and lost when the process ends. Throws `bad_signing_key` if the file has no such key.
 */
export function openOwnSigner(path?: string): OwnSigner {
  if (path === undefined) return asSigner(signingKeyOf(newSeed()), true)
  if (existsSync(path)) return asSigner(withPublicKey(parsePem(path)), false)
  const key = signingKeyOf(newSeed())
  const pem = key.private_key.export({ type: 'pkcs8', format: 'pem' })
  createFileDurably(path, Buffer.from(pem))
  return asSigner(key, true)
}

const asSigner = (key: SigningKey, made: boolean): OwnSigner => ({
  public_key: key.public_key,
  key_id: key.key_id,
  created: made,
  sign: (message) => signWith(key, message),
})

function parsePem(path: string): KeyObject {
  const pem = readFileSync(path)
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error below replaces the parser's, which might quote the private key.
  }
  throw new KeyringError('bad_signing_key', `${path} is not an Ed25519 private key in PEM`)
}

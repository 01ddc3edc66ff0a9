// Loads a signing key from its owner's file: Ed25519 as PKCS#8 in PEM (RFC 8410, RFC 7468).

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createFileDurably } from './durable-file.ts'
import { KeyringError } from './keyring-error.ts'
import { keyIdOf, newSeed, type SigningKey, signingKeyOf, signWith } from './signer.ts'
import { KEY_BYTES } from './wrap.ts'

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
  if (existsSync(path)) return asSigner(readSigningKey(path), false)
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

function readSigningKey(path: string): SigningKey {
  const private_key = parsePem(path, readFileSync(path))
  const spki = createPublicKey(private_key).export({ format: 'der', type: 'spki' })
  const public_key = Buffer.from(spki.subarray(spki.length - KEY_BYTES))
  return { key_id: keyIdOf(public_key), public_key, private_key }
}

function parsePem(path: string, pem: Buffer): KeyObject {
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error below replaces the parser's, which might quote the private key.
  }
  throw new KeyringError('bad_signing_key', `${path} is not an Ed25519 private key in PEM`)
}

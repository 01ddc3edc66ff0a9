// Wraps stored keys under the master key, each bound to its kind and owner.

import { createSecretKey, type KeyObject } from 'node:crypto'
import { KeyringError } from './keyring-error.ts'
import { open, SealError, seal } from './seal.ts'

export const KEY_BYTES = 32

interface WrapContext {
  /** Of the wrapped value; part of the associated data, so that rows cannot be swapped. */
  readonly kind:
    | 'master-check'
    | 'tenant-key'
    | 'label-salt'
    | 'signing-seed'
    | 'mac-root'
    | 'wrap-key'
  /** The tenant, key id or instance the value belongs to. */
  readonly owner: string
}

/** The master key in use; replaced as a whole when it is rotated. */
export interface MasterHolder {
  key: KeyObject
  /** Opens what `key` does not, so that a process with both keys works throughout a rotation. */
  other?: KeyObject | undefined
}

/** A change of the master key: values wrapped under `from` are wrapped again under `next`. */
export interface MasterRotation {
  readonly from: MasterHolder
  readonly next: MasterHolder
}

/** @param next the key that the master key is being rotated to, if this process knows it */
export const masterHolder = (master_key: Buffer, next: Buffer | undefined): MasterHolder => ({
  key: masterKeyObject(master_key),
  other: next && masterKeyObject(next),
})

export function masterKeyObject(master_key: Buffer): KeyObject {
  if (master_key.length !== KEY_BYTES)
    throw new KeyringError('bad_master_key', 'the master key must be 32 bytes (64 hex digits)')
  return createSecretKey(master_key)
}

export function wrap(master: KeyObject, what: WrapContext, value: Uint8Array): Buffer {
  return seal(master, associatedData(what), value)
}

/** Throws `keyring_damaged`: the master key was checked at open, so the row itself is damaged. */
export function unwrap(
  { key, other }: MasterHolder,
  what: WrapContext,
  wrapped: Uint8Array,
): Buffer {
  const value = tryKey(key, what, wrapped) ?? (other && tryKey(other, what, wrapped))
  if (value) return value
  throw new KeyringError('keyring_damaged', `the ${what.kind} of ${what.owner} does not open`)
}

export function opens(master: KeyObject, what: WrapContext, wrapped: Uint8Array): boolean {
  return tryKey(master, what, wrapped) !== null
}

function tryKey(master: KeyObject, what: WrapContext, wrapped: Uint8Array): Buffer | null {
  try {
    return open(master, associatedData(what), wrapped)
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

function associatedData({ kind, owner }: WrapContext): Buffer {
  return Buffer.from(`custos/keyring-wrap/v1\n${kind}\n${owner}`)
}

// The suite of guarantees that a keyring gives on either engine.

import { type TestContext, test } from 'node:test'
import type { Keyring } from '../keyring.ts'
import { checkpointCases } from './checkpoint-cases.ts'
import { fencingCases } from './fencing-cases.ts'
import { ledgerCases } from './ledger-cases.ts'
import { partsCases } from './parts-cases.ts'
import { secretCases } from './secret-cases.ts'
import { signingCases } from './signing-cases.ts'
import { tenantCases } from './tenant-cases.ts'

export interface OpenOptions {
  readonly master_key?: Buffer
  readonly ledger_copy?: string
  readonly read_only?: boolean
}

/** Where one keyring is stored. */
export interface KeyringLocation {
  /** Opens the keyring, which the first opening creates; closed when the test ends. */
  open(opening?: OpenOptions): Promise<Keyring>
  /** Resolves when the keyring can be opened again or copied. */
  close(keyring: Keyring): Promise<void>
  /** Another location with a copy of the keyring, which must be closed. */
  copy(): Promise<KeyringLocation>
  /** Another location without a keyring. */
  another(): Promise<KeyringLocation>
}

export interface KeyringCase {
  readonly title: string
  readonly run: (location: KeyringLocation, t: TestContext) => Promise<void>
}

/** @param newPlace an empty location that is gone after the test */
export function keyringSuite(
  engine: string,
  newPlace: (t: TestContext) => Promise<KeyringLocation>,
): void {
  const cases = [
    secretCases,
    signingCases,
    ledgerCases,
    fencingCases,
    partsCases,
    checkpointCases,
    tenantCases,
  ].flat()
  for (const { title, run } of cases)
    test(`${engine}: ${title}`, async (t) => run(await newPlace(t), t))
}

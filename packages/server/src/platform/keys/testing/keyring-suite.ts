// What every keyring must do, whatever engine keeps it: run against each of them.

import { type TestContext, test } from 'node:test'
import type { Keyring } from '../keyring.ts'
import { checkpointCases } from './checkpoint-cases.ts'
import { ledgerCases } from './ledger-cases.ts'
import { partsCases } from './parts-cases.ts'
import { secretCases } from './secret-cases.ts'
import { signingCases } from './signing-cases.ts'
import { tenantCases } from './tenant-cases.ts'
import { turnCases } from './turn-cases.ts'

export interface Opening {
  readonly master_key?: Buffer
  readonly ledger_copy?: string
  readonly read_only?: boolean
}

/** Where one keyring is kept. */
export interface Place {
  /** The keyring that is kept here, made by the first opening; closed when the test ends. */
  open(opening?: Opening): Promise<Keyring>
  /** Resolves when it can be opened or copied by somebody else. */
  close(keyring: Keyring): Promise<void>
  /** Another place with a copy of what is kept here; every keyring must be closed. */
  copy(): Promise<Place>
  /** Another place without a keyring. */
  another(): Promise<Place>
}

export interface Case {
  readonly title: string
  readonly run: (place: Place, t: TestContext) => Promise<void>
}

/** @param newPlace an empty place that is gone after the test */
export function keyringSuite(engine: string, newPlace: (t: TestContext) => Promise<Place>): void {
  const cases = [
    secretCases,
    signingCases,
    ledgerCases,
    turnCases,
    partsCases,
    checkpointCases,
    tenantCases,
  ].flat()
  for (const { title, run } of cases)
    test(`${engine}: ${title}`, async (t) => run(await newPlace(t), t))
}

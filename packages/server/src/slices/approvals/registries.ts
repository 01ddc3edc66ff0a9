// The registries whose records may wait for a person, by their kind.

import assert from 'node:assert/strict'
import type { RecordKind } from '@custos/proof'
import { artifactRegistry } from '../artifacts/index.ts'
import { compositionRegistry } from '../compositions/index.ts'
import { landingRegistry } from '../landing/index.ts'
import type { Registry } from '../records/index.ts'
import { actionRegistry } from '../world-model/index.ts'

const REGISTRIES: Readonly<Partial<Record<RecordKind, Registry>>> = {
  action: actionRegistry,
  artifact: artifactRegistry,
  composition: compositionRegistry,
  landing: landingRegistry,
}

/** For a kind that waits: requests are of no other. */
export function registryOf(kind: RecordKind): Registry {
  const registry = REGISTRIES[kind]
  assert(registry, `a ${kind} never waits`)
  return registry
}

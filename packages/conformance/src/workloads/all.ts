// Builds all workloads of a seed, and their digest.

import { canonicalBytes, sha256, toHex } from '@custos/proof'
import { atOnce, namespaces } from './apart.ts'
import { acrossSessions, conflicts, currentVersions, deletion, pastVersions } from './change.ts'
import { importance, longHorizon, nearMisses, stableRecall } from './recall.ts'
import type { Trace } from './trace.ts'

export type Workloads = {
  readonly stable_recall: Trace
  readonly current_versions: Trace
  readonly past_versions: Trace
  readonly near_misses: Trace
  readonly long_horizon: Trace
  readonly namespaces: Trace
  readonly deletion: Trace
  readonly conflicts: Trace
  readonly importance: Trace
  readonly across_sessions: Trace
  readonly at_once: Trace
  /** W1 again with other people, for the provenance probes. */
  readonly signed: Trace
}

/** Builds the ten workloads from the seed alone; W1 and W2 have two traces each. */
export function workloadsOf(seed: number): Workloads {
  return {
    stable_recall: stableRecall('W1', seed),
    current_versions: currentVersions(seed),
    past_versions: pastVersions(seed),
    near_misses: nearMisses(seed),
    long_horizon: longHorizon(seed),
    namespaces: namespaces(seed),
    deletion: deletion(seed),
    conflicts: conflicts(seed),
    importance: importance(seed),
    across_sessions: acrossSessions(seed),
    at_once: atOnce(seed),
    signed: stableRecall('W1/signed', seed, 10),
  }
}

/** Hex SHA-256 of the canonical JSON (RFC 8785) of all workloads. */
export function workloadDigest(workloads: Workloads): string {
  return toHex(sha256(canonicalBytes({ ...workloads })))
}

// Builds the snapshot that a baseline stores, and compares a later one with it.

import {
  ASSURANCE_CHECKS,
  type AssuranceCheck,
  type CheckStatus,
  type DriftEvent,
} from '@custos/contract'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { Results } from './checks.ts'
import type { CheckReport, CountName, TenantObservation } from './tenant-checker.ts'

export interface Snapshot extends TenantObservation {
  readonly settings: Readonly<Record<string, string>>
  readonly checks: Readonly<Partial<Record<AssuranceCheck, CheckStatus>>>
}

/** What this process was started with and what follows for every answer it gives. */
const settingsOf = ({ settings }: Kernel) => ({
  version: settings.version,
  origin: settings.origin,
  auth: settings.auth,
  default_tokenizer: settings.default_tokenizer,
})

export function snapshotOf(kernel: Kernel, { observed }: CheckReport, results: Results): Snapshot {
  const checks = Object.entries(results).map(([check, { status }]) => [check, status])
  return { ...observed, settings: settingsOf(kernel), checks: Object.fromEntries(checks) }
}

/** In the order: what fails now, then what is another. */
export function driftBetween(
  baseline: Snapshot,
  now: Snapshot,
  baseline_root: string | null,
): DriftEvent[] {
  return [
    ...regressions(baseline, now),
    ...logDrift(baseline, now, baseline_root),
    ...countDrift(baseline, now),
    ...valueDrift(baseline, now),
  ]
}

function regressions({ checks: before }: Snapshot, { checks: now }: Snapshot): DriftEvent[] {
  return ASSURANCE_CHECKS.flatMap((check) => {
    if (before[check] !== 'pass' || now[check] !== 'fail') return []
    const event: DriftEvent = {
      check,
      type: 'regression',
      detail: 'it passed at the baseline',
      baseline_status: 'pass',
      current_status: 'fail',
      baseline_value: null,
      current_value: null,
    }
    return [event]
  })
}

type Value = DriftEvent['baseline_value']

const changed = (check: string, detail: string, values: readonly [Value, Value]): DriftEvent => ({
  check,
  type: 'changed',
  detail,
  baseline_status: null,
  current_status: null,
  baseline_value: values[0],
  current_value: values[1],
})

function logDrift(
  { log: before }: Snapshot,
  { log: now }: Snapshot,
  baseline_root: string | null,
): DriftEvent[] {
  if (now.tree_size < before.tree_size)
    return [changed('chain', 'the log is shorter', [before.tree_size, now.tree_size])]
  if (before.tree_size === 0 || baseline_root === before.root_hash) return []
  return [changed('chain', 'the log began otherwise', [before.root_hash, baseline_root])]
}

/** An erased fact leaves a tombstone, so that their sum never falls; nor does any of the others. */
const KEPT: readonly (readonly [string, readonly CountName[], string])[] = [
  ['ledger', ['facts', 'tombstones'], 'facts are gone that no tombstone stands for'],
  ['ledger', ['certificates'], 'certificates are gone'],
  ['seals', ['decisions'], 'decisions are gone'],
]

function countDrift({ counts: before }: Snapshot, { counts: now }: Snapshot): DriftEvent[] {
  return KEPT.flatMap(([check, names, detail]) => {
    const sum = (counts: Snapshot['counts']) => names.reduce((n, name) => n + counts[name], 0)
    return sum(now) < sum(before) ? [changed(check, detail, [sum(before), sum(now)])] : []
  })
}

function valueDrift(before: Snapshot, now: Snapshot): DriftEvent[] {
  const events: DriftEvent[] = []
  if (before.keys.digest !== now.keys.digest) {
    const detail = 'the list of published keys is another'
    events.push(changed('keys', detail, [before.keys.digest, now.keys.digest]))
  }
  if (before.policies.digest !== now.policies.digest) {
    const detail = 'the policies in force are others'
    events.push(changed('policies', detail, [before.policies.digest, now.policies.digest]))
  }
  for (const [name, value] of Object.entries(now.settings))
    if (before.settings[name] !== value)
      events.push(changed('settings', `${name} is another`, [before.settings[name] ?? null, value]))
  return events
}

// The names of checks, and the status that their results add up to.

import {
  ASSURANCE_ALIASES,
  ASSURANCE_CHECKS,
  type AssuranceAlias,
  type AssuranceCheck,
  type AssuranceStatus,
  type CheckResult,
  type DriftEvent,
} from '@custos/contract'

export type CheckName = AssuranceCheck | AssuranceAlias

const isAlias = (name: CheckName): name is AssuranceAlias => name in ASSURANCE_ALIASES

/** Resolves names and aliases to checks, without duplicates, in the order they run. */
export function checksOf(names: readonly CheckName[]): AssuranceCheck[] {
  const wanted = new Set<AssuranceCheck>()
  for (const name of names)
    for (const check of isAlias(name) ? ASSURANCE_ALIASES[name] : [name]) wanted.add(check)
  return ASSURANCE_CHECKS.filter((check) => wanted.has(check))
}

export type Results = Readonly<Partial<Record<AssuranceCheck, CheckResult>>>

/** `metrics` is the only check that a caller can name and that has no implementation. */
const NOT_MEASURED = notChecked('no error rates or latencies are measured of one tenant')

/** Results by check name, and also by each alias that was asked for. */
export function resultsByName(
  names: readonly CheckName[],
  results: Results,
): Record<string, CheckResult> {
  const named: Record<string, CheckResult> = { ...results }
  for (const name of names)
    if (isAlias(name)) named[name] = together(ASSURANCE_ALIASES[name], results)
  return named
}

function together(checks: readonly AssuranceCheck[], results: Results): CheckResult {
  const found = checks.flatMap((check) => results[check] ?? [])
  const worst =
    found.find(({ status }) => status === 'fail') ??
    found.find(({ status }) => status === 'not_checked') ??
    found[0]
  return worst ?? NOT_MEASURED
}

export function notChecked(detail: string): CheckResult {
  const nothing = { counts: {}, findings: [], findings_total: 0 }
  return { status: 'not_checked', passed: false, detail, ...nothing }
}

/** A failure outweighs drift. A requested check that could not be made counts as failed. */
export function decideStatus(results: Results, drift: readonly DriftEvent[]): AssuranceStatus {
  const all = Object.values(results)
  if (all.length === 0 || !all.every(({ passed }) => passed)) return 'fail'
  return drift.length > 0 ? 'drift' : 'pass'
}

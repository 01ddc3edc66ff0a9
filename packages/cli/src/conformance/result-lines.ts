// A result of the suite as text: a row for each capability, with why it is not a pass.

import type { CapabilityResult, ConformanceResult } from '@custos/conformance'
import { formatTable } from '../table.ts'

export function resultLines(result: ConformanceResult): string[] {
  const { url_origin, server, seed, suite_version, passed, tested } = result
  const version = server.version === undefined ? '' : `, version ${server.version}`
  const rows = result.capabilities.map((found) => [
    found.capability,
    found.verdict,
    checksOf(found),
    found.reason ?? '',
  ])
  const measured = result.measurements.map(({ workload, metrics }) => {
    const { queries = 0, recall = 0 } = metrics
    return `${workload} recall ${recall} in ${queries}`
  })
  return [
    `${url_origin}${version}: ${suite_version}, seed ${seed}`,
    '',
    formatTable([['capability', 'verdict', 'checks', 'reason'], ...rows]),
    '',
    `${passed} of ${tested} tested capabilities pass: ${result.conformance_rate}`,
    `measured, without a verdict: ${measured.join(', ')}`,
    `workloads ${result.workload_digest}`,
  ]
}

function checksOf({ checks }: CapabilityResult): string {
  if (checks.length === 0) return '-'
  return `${checks.filter(({ passed }) => passed).length}/${checks.length}`
}

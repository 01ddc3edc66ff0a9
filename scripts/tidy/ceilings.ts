// Ceilings: architecture.json allows a number of findings for some rules, which may only fall.

import type { Finding } from './project.ts'

type Ceilings = Readonly<Record<string, number>>

export function countOf(findings: readonly Finding[]): number {
  return findings.reduce((sum, { weight = 1 }) => sum + weight, 0)
}

/** Findings of rules without a ceiling, and one finding for each exceeded ceiling. */
export function overCeilings(findings: readonly Finding[], ceilings: Ceilings): Finding[] {
  const kept = findings.filter(({ rule }) => !ceilings[rule])
  for (const [rule, max] of Object.entries(ceilings)) {
    const own = findings.filter((finding) => finding.rule === rule)
    const count = countOf(own)
    if (max === 0 || count <= max) continue
    const message = `${count} findings, at most ${max}; most in ${worst(own).join(', ')}`
    const use = own[0]?.use ?? 'fewer'
    kept.push({ path: 'architecture.json', line: 1, rule, message, use })
  }
  return kept
}

function worst(findings: readonly Finding[]): string[] {
  const counts = new Map<string, number>()
  for (const { path, weight = 1 } of findings) counts.set(path, (counts.get(path) ?? 0) + weight)
  const most = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, 5)
  return most.map(([path, count]) => `${path} ${count}`)
}

/** The text of architecture.json with each ceiling lowered to a smaller current count. */
export function lowerCeilings(json: string, findings: readonly Finding[]): string {
  return json.replace(/"ceilings": \{[^}]*\}/, (section) =>
    section.replace(/"([\w-]+)": (\d+)/g, (_, rule: string, max: string) => {
      const count = countOf(findings.filter((finding) => finding.rule === rule))
      return `"${rule}": ${Math.min(Number(max), count)}`
    }),
  )
}

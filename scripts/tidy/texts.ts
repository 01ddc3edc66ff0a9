// Checks texts: no paths or hosts of one machine, and generated parts are up to date.

import { type Architecture, renderTiers } from './architecture.ts'
import type { Finding, Project } from './project.ts'

const MACHINE = /(?<![\w.$}])\/(work|home|root|Users|tmp)\/[\w.]/
const REGISTRY = /"resolved": "https?:|^\s*(@[\w-]+:)?registry\s*=|\/\/registry\.npmjs\./
const OPEN = '<!-- generated: tiers -->'
const CLOSE = '<!-- /generated -->'

/** Finds paths and hosts that exist on one machine only. */
export function checkMachine({ texts }: Project): Finding[] {
  const findings: Finding[] = []
  for (const [path, text] of texts) {
    if (!MACHINE.test(text) && !new RegExp(REGISTRY, 'm').test(text)) continue
    for (const [index, line] of text.split('\n').entries()) {
      const at = { path, line: index + 1, rule: 'machine' }
      if (MACHINE.test(line))
        findings.push({ ...at, message: 'a path of one machine', use: 'a relative path' })
      if (REGISTRY.test(line))
        findings.push({ ...at, message: 'names a registry', use: "the reader's own setting" })
    }
  }
  return findings
}

/** ARCHITECTURE.md with its tiers rewritten from architecture.json; unchanged without markers. */
export function withTiers(page: string, architecture: Architecture): string {
  const [start, end] = [page.indexOf(OPEN), page.indexOf(CLOSE)]
  if (start < 0 || end < start) return page
  const head = page.slice(0, start + OPEN.length)
  return `${head}\n\n${renderTiers(architecture)}\n\n${page.slice(end)}`
}

export function checkTierPage({ architecture, texts }: Project): Finding[] {
  const page = texts.get('ARCHITECTURE.md')
  if (page === undefined) return []
  const at = { path: 'ARCHITECTURE.md', line: 1, rule: 'tier-page' }
  if (!page.includes(OPEN) || !page.includes(CLOSE))
    return [{ ...at, message: `no ${OPEN} … ${CLOSE}`, use: 'both markers' }]
  if (withTiers(page, architecture) === page) return []
  return [{ ...at, message: 'tiers differ from architecture.json', use: 'npm run tidy -- --write' }]
}

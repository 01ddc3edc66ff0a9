// Checks imports: direction between zones and tiers, index files, restricted modules.

import { isBuiltin } from 'node:module'
import {
  isTest,
  isTestSupport,
  matches,
  SLICES,
  sliceOf,
  tierOf,
  type Zone,
  zoneOf,
} from './architecture.ts'
import type { Code, Finding, Import, Project } from './project.ts'

/** Packages that tests may use in addition to those of their part. */
const TEST_PACKAGES = ['fast-check']

/** Finds every import that a rule forbids. */
export function checkImports(project: Project): Finding[] {
  const findings: Finding[] = []
  for (const code of project.code.values()) {
    const zone = zoneOf(project.architecture, code.path)
    if (!zone) {
      findings.push(finding(code, 1, 'belongs to no zone of architecture.json', 'a listed folder'))
      continue
    }
    for (const item of code.imports) {
      const problem = judge(project, code, zone, item) ?? restricted(project, code, item)
      if (problem) findings.push(finding(code, item.line, problem.message, problem.use))
    }
  }
  return findings
}

interface Problem {
  readonly message: string
  readonly use: string
}

function finding(code: Code, line: number, message: string, use: string): Finding {
  return { path: code.path, line, rule: 'imports', message, use }
}

function judge(project: Project, code: Code, zone: Zone, item: Import): Problem | undefined {
  if (item.target !== undefined) return judgeFile(project, code.path, zone, item.target)
  const tests = isTest(code.path) || isTestSupport(code.path)
  if (isBuiltin(item.specifier)) {
    if (zone.builtins || tests) return undefined
    return { message: `${zone.name} imports Node's ${item.specifier}`, use: 'portable code' }
  }
  const name = packageName(item.specifier)
  if (zone.packages.includes(name) || (tests && TEST_PACKAGES.includes(name))) return undefined
  if (zone.types?.includes(name))
    return item.kind === 'type'
      ? undefined
      : { message: `${zone.name} imports values of ${name}`, use: 'import type' }
  return { message: `${zone.name} may not import ${name}`, use: list(zone.packages) }
}

function judgeFile(project: Project, from: string, zone: Zone, to: string): Problem | undefined {
  const { architecture } = project
  if (!project.code.has(to) && !project.texts.has(to))
    return { message: `no such file: ${to}`, use: 'the path with its extension' }
  if (!project.code.has(to) && packageOf(from) === packageOf(to)) return undefined
  const tests = isTest(from) || isTestSupport(from) || zone.ambient === true
  if (isTestSupport(to))
    return tests ? undefined : { message: `product code imports ${to}`, use: 'product code' }
  if (isTest(to)) return { message: `imports the test ${to}`, use: 'a testing/ folder' }
  // A harness may start all of its package.
  if (isTestSupport(from) && packageOf(from) === packageOf(to)) return undefined
  const other = zoneOf(architecture, to)
  if (other?.name !== zone.name && !zone.zones.includes(other?.name ?? ''))
    return { message: `${zone.name} may not import ${other?.name ?? to}`, use: list(zone.zones) }
  return judgeSlice(project, from, to)
}

function judgeSlice({ architecture }: Project, from: string, to: string): Problem | undefined {
  const [own, other] = [sliceOf(from), sliceOf(to)]
  if (other === undefined || own === other) return undefined
  if (to !== `${SLICES}${other}/index.ts`)
    return { message: `reaches into slice ${other}`, use: `slices/${other}/index.ts` }
  if (own === undefined) return undefined
  const [ownTier, otherTier] = [tierOf(architecture, own), tierOf(architecture, other)]
  if (ownTier === undefined || otherTier === undefined) return undefined
  if (otherTier < ownTier) return undefined
  return {
    message: `slice ${own} (tier ${ownTier}) imports ${other} (tier ${otherTier})`,
    use: 'an event, or a function passed by app/',
  }
}

function restricted(project: Project, code: Code, item: Import): Problem | undefined {
  const tests = isTest(code.path) || isTestSupport(code.path)
  for (const rule of project.architecture.restricted) {
    if (matches(code.path, rule.where) || (tests && rule.tests)) continue
    const name = rule.names?.find((name) => item.names.includes(name))
    const hit =
      name ??
      (rule.package === packageName(item.specifier) ? rule.package : undefined) ??
      (rule.module === item.target && item.kind !== 'type' ? rule.module : undefined)
    if (hit) return { message: `${hit} is for ${list(rule.where)} only`, use: rule.use }
  }
  return undefined
}

/** Finds slices that architecture.json places in no tier, or in two. */
export function checkTiers({ architecture, code }: Project): Finding[] {
  const present = new Set([...code.keys()].map(sliceOf).filter((slice) => slice !== undefined))
  const placed = architecture.tiers.flatMap(({ slices }) => slices)
  const at = { path: 'architecture.json', line: 1, rule: 'tiers' }
  return [
    ...[...present]
      .filter((slice) => !placed.includes(slice))
      .map((slice) => ({ ...at, message: `slice ${slice} has no tier`, use: 'a row in tiers' })),
    ...placed
      .filter((slice, index) => placed.indexOf(slice) !== index)
      .map((slice) => ({ ...at, message: `slice ${slice} has two tiers`, use: 'one row' })),
  ]
}

function packageName(specifier: string): string {
  if (isBuiltin(specifier)) return specifier
  const [first = '', second = ''] = specifier.split('/')
  return first.startsWith('@') ? `${first}/${second}` : first
}

function packageOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

function list(words: readonly string[]): string {
  return words.length ? words.join(', ') : 'its own files'
}

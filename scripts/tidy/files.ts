// Checks files: their names, first lines, whether an entry reaches them, and minimum size.

import { dirname, join, normalize } from 'node:path/posix'
import ts from 'typescript-6'
import { isProduct, isTest, isTestSupport } from './architecture.ts'
import { type Code, type Finding, linesOf, type Project, visit } from './project.ts'

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.(tsx?|js|mjs)$/
const CODE = /\.(tsx?|js|mjs)$/
const VAGUE = /(^|-)(utils?|helpers?|common|manager|service|misc)$/

export function checkNames(project: Project): Finding[] {
  const findings: Finding[] = []
  for (const path of project.code.keys()) {
    const parts = path.split('/')
    const name = parts.at(-1) ?? ''
    const at = { path, line: 1, rule: 'file-name' }
    if (!KEBAB.test(name))
      findings.push({ ...at, message: `${name} is not kebab-case`, use: 'words-with-hyphens.ts' })
    const vague = parts.map((part) => part.replace(/\..*$/, '')).find((part) => VAGUE.test(part))
    if (vague)
      findings.push({ ...at, message: `${vague} says nothing`, use: 'what the file is about' })
  }
  return findings
}

/** The first line of a code file must say what the file is for. */
export function checkFirstLines({ code }: Project): Finding[] {
  const findings: Finding[] = []
  for (const { path, text } of code.values()) {
    const [first = '', second = ''] = text.split('\n', 2)
    const line = first.startsWith('#!') ? second : first
    if (/^(\/\/|\/\*\*?) ?\S/.test(line)) continue
    const message = 'the first line does not say what the file is for'
    findings.push({ path, line: 1, rule: 'first-line', message, use: '// What this is.' })
  }
  return findings
}

/**
 * Finds files that no entry reaches. The product's entries are the files that package.json files
 * name. Tests and tools are entries of their own only, so a product file that only tests use is
 * dead as well.
 */
export function checkReach(project: Project): Finding[] {
  const named = namedInManifests(project)
  const product = reach(project, [...named])
  const tests = [...project.code.keys()].filter((path) => isTest(path))
  const tools = [...project.code.keys()].filter((path) =>
    /^(bench|test|examples\/[\w-]+)\/[^/]+\.ts$/.test(path),
  )
  const all = reach(project, [...named, ...tests, ...tools])
  const findings: Finding[] = []
  for (const path of project.code.keys()) {
    const own = path.startsWith('packages/') && !isTestSupport(path) && !isTest(path)
    if (own ? product.has(path) : all.has(path)) continue
    const message = all.has(path) ? 'only tests reach this file' : 'nothing reaches this file'
    findings.push({ path, line: 1, rule: 'dead-file', message, use: 'it, or delete it' })
  }
  return findings
}

/** Code files that a package.json names in its scripts, exports or bin. */
function namedInManifests({ code, texts }: Project): Set<string> {
  const named = new Set<string>()
  for (const [path, text] of texts) {
    if (!/(^|\/)package\.json$/.test(path)) continue
    for (const [word] of text.matchAll(/[\w./-]+\.(tsx?|js|mjs)\b/g)) {
      const target = normalize(join(dirname(path), word))
      if (code.has(target)) named.add(target)
    }
  }
  return named
}

function reach(project: Project, entries: readonly string[]): Set<string> {
  const reached = new Set<string>()
  const queue = [...entries]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const code = project.code.get(path)
    if (!code || reached.has(path)) continue
    reached.add(path)
    queue.push(...referred(project, code))
  }
  return reached
}

/** Files that a file imports, or names in a string, as for workers and child processes. */
function* referred(project: Project, code: Code): Generator<string> {
  for (const { target } of code.imports) if (target !== undefined) yield target
  yield* namedFiles(project, code)
}

function* namedFiles({ code }: Project, { path, ast }: Code): Generator<string> {
  const names: string[] = []
  visit(ast, (node) => {
    if (!ts.isStringLiteralLike(node) || !CODE.test(node.text)) return
    const { parent } = node
    if (!ts.isImportDeclaration(parent) && !ts.isExportDeclaration(parent)) names.push(node.text)
  })
  for (const name of names)
    for (const target of [normalize(join(dirname(path), name)), normalize(name)])
      if (code.has(target)) yield target
}

/** The product files that import each product file, type imports included. */
export function importersOf({ code }: Project): Map<string, string[]> {
  const importers = new Map<string, Set<string>>()
  for (const { path, imports } of code.values())
    for (const { target } of imports)
      if (isProduct(path) && target !== undefined && target !== path)
        importers.set(target, (importers.get(target) ?? new Set()).add(path))
  return new Map([...importers].map(([path, set]) => [path, [...set]]))
}

/**
 * Finds small files with one importer. Excludes index files, files that only an index re-exports,
 * files started by name, and pure files with a test of their own.
 */
export function checkSmallFiles(project: Project): Finding[] {
  const max = project.architecture.limits.small_file_lines
  const findings: Finding[] = []
  const started = new Set(
    [...project.code.values()].flatMap((code) => [...namedFiles(project, code)]),
  )
  for (const [path, [only = '', ...others]] of importersOf(project)) {
    const code = project.code.get(path)
    if (!code || !isProduct(path) || others.length > 0 || linesOf(code.text) > max) continue
    if (path.includes('/generated/')) continue
    if (path.endsWith('/index.ts') || only.endsWith('/index.ts') || started.has(path)) continue
    // SQL must stay in SQL files.
    if (path.endsWith('.sql.ts') && !only.endsWith('.sql.ts')) continue
    if (isPure(code) && isTested(project, path)) continue
    const message = `${linesOf(code.text)} lines with one importer`
    findings.push({ path, line: 1, rule: 'small-file', message, use: `a part of ${only}` })
  }
  return findings
}

const IMPURE =
  /\b(async|await|Promise|Kernel|Call|Tx|TenantDb)\b|from 'node:(?!assert|buffer|crypto)/

function isPure({ text }: Code): boolean {
  return !IMPURE.test(text)
}

/** Whether a test of the same name exists: `pack.test.ts` or `pack.properties.test.ts`. */
function isTested({ code }: Project, path: string): boolean {
  const stem = path.replace(/ts$/, '')
  return [...code.keys()].some((other) => isTest(other) && other.startsWith(stem))
}

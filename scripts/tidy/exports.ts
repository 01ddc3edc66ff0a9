// Finds unused exports and counts type declarations.

import { isProduct, isTest, isTestSupport } from './architecture.ts'
import type { Code, Declaration, Finding, Project } from './project.ts'

const CONTRACT = 'packages/contract/'
/** The public index of a package or adapter, which programs outside this repository import. */
const INDEX = /^packages\/([\w-]+\/src|adapters\/src\/[\w-]+)\/index\.ts$/

export function checkExports(project: Project): Finding[] {
  return [...unusedExports(project), ...typeDeclarations(project), ...typesPerFile(project)]
}

function productFiles({ code }: Project): Code[] {
  return [...code.values()].filter(({ path }) => isProduct(path))
}

/** Interfaces and type aliases of product code, exported or not. */
function typeDeclarations(project: Project): Finding[] {
  return productFiles(project).flatMap(({ path, declarations }) =>
    declarations
      .filter(({ kind }) => kind === 'type')
      .map(({ name, line }) => {
        const use = 'a type that is there already'
        return { path, line, rule: 'type-declaration', message: `declares ${name}`, use }
      }),
  )
}

function typesPerFile(project: Project): Finding[] {
  const max = project.architecture.limits.exported_types
  const findings: Finding[] = []
  for (const { path, declarations } of productFiles(project)) {
    if (path.startsWith(CONTRACT)) continue
    const types = declarations.filter(({ kind, exported }) => kind === 'type' && exported)
    const [line, weight] = [types[max]?.line, types.length - max]
    if (line === undefined) continue
    const message = `${types.length} exported types, at most ${max}`
    findings.push({ path, line, rule: 'exported-types', message, use: 'fewer types', weight })
  }
  return findings
}

/** Names that product code exports but no file imports. */
function unusedExports(project: Project): Finding[] {
  const { none } = exportUse(project)
  return none.map(({ path, line, name }) => {
    const message = `nothing imports ${name}`
    return { path, line, rule: 'unused-export', message, use: 'no export' }
  })
}

/** Product exports that no file imports, and those that only tests import. */
export function exportUse(project: Project): { none: ExportedName[]; tests: ExportedName[] } {
  const imported = importedNames(project)
  const use = Object.groupBy(exportedNames(project), ({ path, name }) => {
    const users = [imported.get(`${path}#${name}`), imported.get(`${path}#*`)]
    return users.find((user) => user === 'product') ?? users.find(Boolean) ?? 'none'
  })
  return { none: use.none ?? [], tests: use.tests ?? [] }
}

type ExportedName = Pick<Declaration, 'name' | 'line' | 'kind'> & { readonly path: string }

/** Files that the `exports` of packages name. */
function facesOf({ texts }: Project): Set<string> {
  const faces = [...texts].flatMap(([path, text]) => {
    const [, folder] = /^(packages\/[\w-]+\/)package\.json$/.exec(path) ?? []
    if (folder === undefined) return []
    const { exports = {} } = JSON.parse(text) as { exports?: Record<string, unknown> }
    return Object.values(exports).map((target) => String(target).replace('./', folder))
  })
  return new Set(faces)
}

/** Declared exports, and the names that the index of a slice re-exports. */
function* exportedNames(project: Project): Generator<ExportedName> {
  const faces = facesOf(project)
  for (const { path, declarations, imports } of productFiles(project)) {
    if (faces.has(path) && !INDEX.test(path)) continue
    for (const declaration of declarations) if (declaration.exported) yield { ...declaration, path }
    if (faces.has(path) || INDEX.test(path)) continue
    for (const { reexport, names, line, kind } of imports)
      if (reexport) for (const name of names) yield { path, line, name, kind: isType(kind) }
  }
}

function isType(kind: string): 'type' | 'value' {
  return kind === 'type' ? 'type' : 'value'
}

/** Whether product code or only tests import each `file#name`. Resolves `export *`. */
function importedNames(project: Project): Map<string, 'product' | 'tests'> {
  const { code } = project
  const faces = facesOf(project)
  const imported = new Map<string, 'product' | 'tests'>()
  const note = (path: string, name: string, user: 'product' | 'tests') => {
    const key = `${path}#${name}`
    if (imported.get(key) === 'product' || imported.get(key) === user) return
    imported.set(key, user)
    for (const { reexport, names, target } of code.get(path)?.imports ?? [])
      if (reexport && target !== undefined && names.includes('*')) note(target, name, user)
  }
  for (const { path, imports } of code.values()) {
    const user =
      isTest(path) || isTestSupport(path) || path.startsWith('test/') ? 'tests' : 'product'
    for (const { specifier, target, names, reexport } of imports) {
      const file = target ?? packageFace(specifier)
      // Re-exports of a package's index are public; other `export *` are resolved above.
      const inner = reexport && !faces.has(path) && !INDEX.test(path)
      for (const name of names) if (file && !(inner && name === '*')) note(file, name, user)
    }
  }
  return imported
}

function packageFace(specifier: string): string | undefined {
  const [, name] = /^@custos\/([\w-]+)$/.exec(specifier) ?? []
  return name === undefined ? undefined : `packages/${name}/src/index.ts`
}

// What tidy looks at: the project's code files, parsed once, and its other texts.

import { dirname, join, normalize } from 'node:path/posix'
import ts from 'typescript'
import type { Architecture } from './architecture.ts'

export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly message: string
  /** What to write instead. */
  readonly use?: string
}

/** `value` and `type` are static imports; `dynamic` is `import()` of a value. */
export type ImportKind = 'value' | 'type' | 'dynamic'

export interface Import {
  readonly specifier: string
  readonly line: number
  readonly kind: ImportKind
  /** The imported names as the other module calls them; empty for `import()` and `* as`. */
  readonly names: readonly string[]
  readonly reexport: boolean
  /** Path from the project root; absent for packages and built-ins. */
  readonly target?: string
}

export interface Code {
  readonly path: string
  readonly text: string
  readonly ast: ts.SourceFile
  readonly imports: readonly Import[]
}

export interface Project {
  readonly architecture: Architecture
  /** Code by path from the project root. */
  readonly code: ReadonlyMap<string, Code>
  /** Every text file, code included. */
  readonly texts: ReadonlyMap<string, string>
}

const CODE = /\.(ts|js|mjs)$/
const GENERATED = /\.d\.ts$/

/** A project from the texts of its files, keyed by slash-separated path from the root. */
export function projectOf(texts: ReadonlyMap<string, string>, architecture: Architecture): Project {
  const code = new Map<string, Code>()
  for (const [path, text] of texts) {
    if (CODE.test(path) && !GENERATED.test(path)) code.set(path, parse(path, text))
  }
  return { architecture, code, texts }
}

function parse(path: string, text: string): Code {
  const ast = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: Import[] = []
  visit(ast, (node) => {
    const found = importOf(node)
    if (!found) return
    const target = found.specifier.startsWith('.')
      ? normalize(join(dirname(path), found.specifier))
      : undefined
    imports.push({ ...found, line: lineOf(ast, node), ...(target && { target }) })
  })
  return { path, text, ast, imports }
}

type Found = Omit<Import, 'line' | 'target'>

function importOf(node: ts.Node): Found | undefined {
  if (ts.isImportDeclaration(node)) return declared(node.moduleSpecifier, node.importClause)
  if (ts.isExportDeclaration(node)) return reexported(node)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return literal(node.argument.literal, 'type')
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return literal(node.arguments[0], 'dynamic')
  return undefined
}

function declared(specifier: ts.Node, clause: ts.ImportClause | undefined): Found | undefined {
  // `import { type A }` stays a run-time import under verbatimModuleSyntax: only the clause counts.
  const kind = clause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? 'type' : 'value'
  const found = literal(specifier, kind)
  const bindings = clause?.namedBindings
  if (!found || !bindings || !ts.isNamedImports(bindings)) return found
  return { ...found, names: bindings.elements.map((e) => (e.propertyName ?? e.name).text) }
}

function reexported(node: ts.ExportDeclaration): Found | undefined {
  const found = literal(node.moduleSpecifier, node.isTypeOnly ? 'type' : 'value')
  return found && { ...found, reexport: true }
}

function literal(node: ts.Node | undefined, kind: ImportKind): Found | undefined {
  if (!node || !ts.isStringLiteralLike(node)) return undefined
  return { specifier: node.text, kind, names: [], reexport: false }
}

/** Calls `look` on the node and everything below it. */
export function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node)
  ts.forEachChild(node, (child) => visit(child, look))
}

/** The 1-based line on which the node's own text starts. */
export function lineOf(ast: ts.SourceFile, node: ts.Node): number {
  return ast.getLineAndCharacterOfPosition(node.getStart(ast)).line + 1
}

/** Every comment of a file with its 1-based line. */
export function commentsOf(code: Code): { line: number; text: string }[] {
  const found = new Map<number, string>()
  const collect = (position: number) => {
    for (const ranges of [
      ts.getLeadingCommentRanges(code.text, position),
      ts.getTrailingCommentRanges(code.text, position),
    ])
      for (const { pos, end } of ranges ?? []) found.set(pos, code.text.slice(pos, end))
  }
  const walk = (node: ts.Node) => {
    if (node.getChildCount(code.ast) === 0 && !ts.isJsxText(node)) {
      collect(node.getFullStart())
      collect(node.getEnd())
    }
    for (const child of node.getChildren(code.ast)) walk(child)
  }
  walk(code.ast)
  return [...found].map(([position, text]) => ({
    line: code.ast.getLineAndCharacterOfPosition(position).line + 1,
    text,
  }))
}

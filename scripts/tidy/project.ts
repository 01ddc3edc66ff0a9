// The input of tidy: the project's code files, parsed once, and its other texts.

import { dirname, join, normalize } from 'node:path/posix'
import ts from 'typescript-6'
import type { Architecture } from './architecture.ts'

export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly message: string
  /** The replacement to suggest. */
  readonly use?: string
  /** How much it adds to the count that a ceiling limits; default: 1. */
  readonly weight?: number
}

/** `value` and `type` are static imports; `dynamic` is `import()` of a value. */
export type ImportKind = 'value' | 'type' | 'dynamic'

export interface Import {
  readonly specifier: string
  readonly line: number
  readonly kind: ImportKind
  /** The imported names as the other module exports them; `*` for `import()` and `export *`. */
  readonly names: readonly string[]
  readonly reexport: boolean
  /** Path from the project root; absent for packages and built-ins. */
  readonly target?: string
}

/** A top-level declaration; `type` for an interface or a type alias. */
export interface Declaration {
  readonly name: string
  readonly line: number
  readonly kind: 'type' | 'value'
  readonly exported: boolean
}

export interface Code {
  readonly path: string
  readonly text: string
  readonly ast: ts.SourceFile
  readonly imports: readonly Import[]
  readonly declarations: readonly Declaration[]
}

export interface Project {
  readonly architecture: Architecture
  /** Code by path from the project root. */
  readonly code: ReadonlyMap<string, Code>
  /** Every text file, code included. */
  readonly texts: ReadonlyMap<string, string>
}

const CODE = /\.(tsx?|js|mjs)$/
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
  return { path, text, ast, imports, declarations: declarationsOf(ast) }
}

function declarationsOf(ast: ts.SourceFile): Declaration[] {
  const declarations: Declaration[] = []
  for (const statement of ast.statements) {
    if (!ts.canHaveModifiers(statement)) continue
    const modifiers = ts.getModifiers(statement) ?? []
    const exported = modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
    for (const name of namesOf(statement)) {
      const kind = isType ? 'type' : 'value'
      declarations.push({ name: name.text, line: lineOf(ast, name), kind, exported })
    }
  }
  return declarations
}

function namesOf(statement: ts.Statement): ts.Identifier[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => bound(name))
  const named =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  return named && statement.name ? [statement.name] : []
}

function bound(name: ts.BindingName): ts.Identifier[] {
  if (ts.isIdentifier(name)) return [name]
  return name.elements.flatMap((e) => (ts.isBindingElement(e) ? bound(e.name) : []))
}

type ImportParts = Omit<Import, 'line' | 'target'>

function importOf(node: ts.Node): ImportParts | undefined {
  if (ts.isImportDeclaration(node)) return declared(node.moduleSpecifier, node.importClause)
  if (ts.isExportDeclaration(node)) return reexported(node)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return literal(node.argument.literal, 'type', [node.qualifier?.getText() ?? '*'])
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return literal(node.arguments[0], 'dynamic', ['*'])
  return undefined
}

function declared(
  specifier: ts.Node,
  clause: ts.ImportClause | undefined,
): ImportParts | undefined {
  // Only `type` on the clause counts: `import { type A }` stays a run-time import under
  // verbatimModuleSyntax.
  const kind = clause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? 'type' : 'value'
  const bindings = clause?.namedBindings
  if (!bindings) return literal(specifier, kind, [])
  if (ts.isNamespaceImport(bindings)) return literal(specifier, kind, membersOf(bindings))
  return literal(specifier, kind, elementNames(bindings))
}

function elementNames({ elements }: ts.NamedImports | ts.NamedExports): string[] {
  return elements.map((element) => (element.propertyName ?? element.name).text)
}

/** The members of `* as name` that the file uses as `name.member`. */
function membersOf({ name }: ts.NamespaceImport): string[] {
  const members = name.getSourceFile().text.matchAll(new RegExp(`\\b${name.text}\\.(\\w+)`, 'g'))
  return [...members].map(([, member = '']) => member)
}

function reexported(node: ts.ExportDeclaration): ImportParts | undefined {
  const { exportClause: clause } = node
  const names = clause && ts.isNamedExports(clause) ? elementNames(clause) : ['*']
  const found = literal(node.moduleSpecifier, node.isTypeOnly ? 'type' : 'value', names)
  return found && { ...found, reexport: true }
}

function literal(
  node: ts.Node | undefined,
  kind: ImportKind,
  names: readonly string[],
): ImportParts | undefined {
  if (!node || !ts.isStringLiteralLike(node)) return undefined
  return { specifier: node.text, kind, names, reexport: false }
}

/** The number of lines of a text, with or without a final line break. */
export function linesOf(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}

/** Calls `each` on the node and all its descendants. */
export function visit(node: ts.Node, each: (node: ts.Node) => void): void {
  each(node)
  ts.forEachChild(node, (child) => visit(child, each))
}

/** The 1-based line on which the node starts, without leading comments. */
export function lineOf(ast: ts.SourceFile, node: ts.Node): number {
  return ast.getLineAndCharacterOfPosition(node.getStart(ast)).line + 1
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g
const cache = new WeakMap<Code, { line: number; text: string }[]>()

/** Every comment of a file with its 1-based line. */
export function commentsOf(code: Code): { line: number; text: string }[] {
  const known = cache.get(code)
  if (known) return known
  const comments = [...withoutLiterals(code).matchAll(COMMENT)].map((match) => ({
    line: code.ast.getLineAndCharacterOfPosition(match.index).line + 1,
    text: match[0],
  }))
  cache.set(code, comments)
  return comments
}

/** The text with literals blanked, so that `//` and `/*` occur only in comments. */
function withoutLiterals({ ast, text }: Code): string {
  let blanked = ''
  let end = 0
  visit(ast, (node) => {
    if (!ts.isLiteralExpression(node) && !ts.isTemplateMiddleOrTemplateTail(node)) {
      if (!ts.isTemplateHead(node)) return
    }
    const start = node.getStart(ast)
    blanked += text.slice(end, start) + ' '.repeat(node.getEnd() - start)
    end = node.getEnd()
  })
  return blanked + text.slice(end)
}

// Finds cycles: between files at run time, between files including types, and between folders.

import { isTest, isTestSupport } from './architecture.ts'
import type { Finding, Project } from './project.ts'

type Graph = Map<string, Set<string>>

/** Finds files that need each other while loading, one finding per cycle. */
export function checkFileCycles({ code }: Project): Finding[] {
  const graph: Graph = new Map()
  for (const { path, imports } of code.values())
    for (const { kind, target } of imports)
      if (kind === 'value' && target !== undefined && code.has(target)) link(graph, path, target)
  return components(graph).map((cycle) => finding(cycle[0] ?? '', 'file-cycle', cycle))
}

/** Finds product files that depend on each other in a cycle, type imports included. */
export function checkTypeCycles(project: Project): Finding[] {
  const graph: Graph = new Map()
  for (const [from, to] of productEdges(project)) link(graph, from, to)
  return components(graph).map((cycle) => finding(cycle[0] ?? '', 'type-cycle', cycle))
}

/**
 * Finds cycles within each folder, between its subfolders (with all below them) and its own files
 * taken as one. Counts type imports.
 */
export function checkFolderCycles(project: Project): Finding[] {
  const graphs = new Map<string, Graph>()
  for (const [from, to] of productEdges(project)) {
    const common = commonFolder(from, to)
    const [a, b] = [child(common, from), child(common, to)]
    if (a === b) continue
    const graph = graphs.get(common) ?? new Map<string, Set<string>>()
    graphs.set(common, graph)
    link(graph, a, b)
  }
  return [...graphs.values()]
    .flatMap(components)
    .map((cycle) => finding(firstFile(project, cycle[0] ?? ''), 'folder-cycle', cycle))
}

function* productEdges({ code }: Project): Generator<[string, string]> {
  for (const { path, imports } of code.values()) {
    // Excludes generated code, whose dependencies follow from the contract and not from a design.
    if (isTest(path) || isTestSupport(path) || path.includes('/generated/')) continue
    for (const { target } of imports)
      if (target !== undefined && code.has(target)) yield [path, target]
  }
}

function commonFolder(a: string, b: string): string {
  const [left, right] = [a.split('/'), b.split('/')]
  let depth = 0
  while (depth < left.length - 1 && left[depth] === right[depth]) depth += 1
  return left
    .slice(0, depth)
    .map((part) => `${part}/`)
    .join('')
}

/** The subfolder of `folder` that contains `path`, or `folder` itself; with a final slash. */
function child(folder: string, path: string): string {
  return path.slice(0, path.indexOf('/', folder.length) + 1) || folder
}

function firstFile({ code }: Project, node: string): string {
  return [...code.keys()].find((path) => path.startsWith(node) && !isTest(path)) ?? node
}

function finding(path: string, rule: string, cycle: readonly string[]): Finding {
  const use = 'one direction: move what both need below both'
  const message = `cycle of ${cycle.join(', ')}`
  return { path, line: 1, rule, message, use, weight: cycle.length }
}

function link(graph: Graph, from: string, to: string): void {
  const targets = graph.get(from) ?? new Set()
  graph.set(from, targets.add(to))
}

/** Strongly connected components of several nodes, or of a node that depends on itself (Tarjan). */
function components(graph: Graph): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const enter = (node: string): number => {
    const at = index.size
    index.set(node, at)
    low.set(node, at)
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      const reach = index.has(next) ? (stack.includes(next) ? index.get(next) : at) : enter(next)
      low.set(node, Math.min(low.get(node) ?? at, reach ?? at))
    }
    if (low.get(node) === at) {
      const members = stack.splice(stack.indexOf(node)).sort()
      if (members.length > 1 || graph.get(node)?.has(node)) found.push(members)
    }
    return low.get(node) ?? at
  }
  for (const node of graph.keys()) if (!index.has(node)) enter(node)
  return found
}

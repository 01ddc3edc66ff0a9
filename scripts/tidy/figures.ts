// Prints the table of figures: current measurements against the targets of architecture.json.

import { type Architecture, isProduct, SLICES } from './architecture.ts'
import { checkFolderCycles, checkTypeCycles } from './cycles.ts'
import { exportUse } from './exports.ts'
import { importersOf } from './files.ts'
import { type Code, linesOf, type Project } from './project.ts'
import { folderSizes } from './shape.ts'

export interface Figure {
  readonly measure: string
  readonly now: number
  /** Upper limit; absent if there is none. */
  readonly target?: number
  readonly note?: string
}

/** Whether `npm run generate` has written it: compilers read it, people do not. */
const isGenerated = (path: string): boolean => path.includes('/generated/')
const isWritten = (path: string): boolean => isProduct(path) && !isGenerated(path)

/** Takes every measurement that needs only the files. */
export function measure(project: Project): Figure[] {
  const targets = project.architecture.targets
  return [
    ...sizes(project),
    ...structure(project),
    ...pages(project),
    ...openApi(project.texts.get('openapi.json') ?? '{}'),
  ].map(({ key, ...figure }) => {
    const target = key === undefined ? undefined : targets[key]
    return target === undefined ? figure : { ...figure, target }
  })
}

type KeyedFigure = Omit<Figure, 'target'> & { readonly key?: keyof Architecture['targets'] }

function sizes({ code, architecture }: Project): KeyedFigure[] {
  const product = [...code.values()].filter(({ path }) => isWritten(path))
  const generated = [...code.values()].filter(({ path }) => isProduct(path) && isGenerated(path))
  const server = product.filter(({ path }) => path.startsWith('packages/server/'))
  const max = architecture.limits.small_file_lines
  const small = server.filter(({ text }) => linesOf(text) <= max)
  return [
    { measure: 'product lines', now: lines(product), key: 'product_lines' },
    { measure: 'generated lines', now: lines(generated) },
    { measure: 'product files', now: product.length, key: 'product_files' },
    { measure: 'server lines', now: lines(server), key: 'server_lines' },
    { measure: 'server files', now: server.length },
    { measure: `server files ≤ ${max} lines`, now: small.length, key: 'server_small_files' },
  ]
}

function lines(files: readonly Code[]): number {
  return files.reduce((sum, { text }) => sum + linesOf(text), 0)
}

function structure(project: Project): KeyedFigure[] {
  const [folder = '', most = 0] = [...folderSizes(project)].sort(([, a], [, b]) => b - a)[0] ?? []
  const { none: unused, tests } = exportUse(project)
  const none = unused.filter(({ path }) => !isGenerated(path))
  const ofTypes = none.filter(({ kind }) => kind === 'type').length
  const single = [...importersOf(project)].filter(
    ([path, { length }]) => path.startsWith('packages/server/') && isProduct(path) && length === 1,
  )
  const types = [...project.code.values()]
    .filter(({ path }) => isWritten(path))
    .flatMap(({ declarations }) => declarations.filter(({ kind }) => kind === 'type'))
  const key = 'server_single_importer_files'
  return [
    { measure: 'server files with one importer', now: single.length, key },
    { measure: 'files in one folder', now: most, key: 'folder_files', note: folder },
    { measure: 'type declarations', now: types.length, key: 'type_declarations' },
    { measure: 'file cycles', now: checkTypeCycles(project).length, key: 'file_cycles' },
    { measure: 'folder cycles', now: checkFolderCycles(project).length, key: 'folder_cycles' },
    {
      measure: 'unused exports',
      now: none.length,
      key: 'unused_exports',
      note: `${ofTypes} types`,
    },
    { measure: 'exports only tests import', now: tests.length },
  ]
}

function pages({ texts }: Project): KeyedFigure[] {
  const [readme = '', page = ''] = [texts.get('README.md'), texts.get('ARCHITECTURE.md')]
  const words = page.split(/\s+/).filter((word) => word !== '').length
  return [
    { measure: 'README lines', now: linesOf(readme), key: 'readme_lines' },
    { measure: 'ARCHITECTURE words', now: words, key: 'architecture_words' },
  ]
}

/** The size of openapi.json, its named schemas, and objects that it repeats. */
function openApi(json: string): KeyedFigure[] {
  const counts = new Map<string, number>()
  const page: unknown = JSON.parse(json, (_, value: unknown) => {
    if (!isRecord(value) || !isRecord(value['properties'])) return value
    const text = JSON.stringify(value)
    counts.set(text, (counts.get(text) ?? 0) + 1)
    return value
  })
  const named = Object.keys(at(at(page, 'components'), 'schemas') ?? {}).length
  const repeated = [...counts.values()].filter((count) => count > 1).length
  return [
    { measure: 'openapi.json bytes', now: Buffer.byteLength(json), key: 'openapi_bytes' },
    { measure: 'openapi.json named schemas', now: named },
    { measure: 'openapi.json repeated objects', now: repeated, key: 'openapi_repeated_objects' },
  ]
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function at(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined
}

/** Measurements that need a run, with the command for each. */
const FRAMES = 'scripts/tidy/frames.ts'
const RUN = `node --import ./${FRAMES} --test --test-isolation=none`
const BY_HAND = [
  [
    'files an erasure visits',
    `${RUN} --test-name-pattern='issue answers' ${SLICES}erasure/issue.test.ts`,
  ],
  ['frames from route to SQL', `${RUN} ${SLICES}{erasure,landing,memory}/*.test.ts`],
  ['files to edit for a new stored field', 'git show --stat of the change that added the last one'],
  ['minutes of npm test', 'time npm test'],
]

export function renderFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ measure, now, target, note = '' }) => {
    const limit = target === undefined ? '' : target.toLocaleString('en')
    return [measure, now.toLocaleString('en'), limit, result(now, target), note]
  })
  const table = [['measure', 'now', 'target', 'result', ''], ...rows]
  const widths = [0, 1, 2, 3].map((i) => Math.max(...table.map((row) => row[i]?.length ?? 0)))
  const text = table.map((row) =>
    row
      .map((cell, i) =>
        i === 1 || i === 2 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
  return [...text, ...BY_HAND.map(([what, command]) => `${what}, by hand: ${command}`)].join('\n')
}

function result(now: number, target: number | undefined): string {
  if (target === undefined) return ''
  return now <= target ? 'met' : `missed by ${(now - target).toLocaleString('en')}`
}

// Prepares a package for npm: compiles it to `dist`. In the repository the `exports` of a manifest
// name sources. `prepack` replaces them by the files of `dist`, and `postpack` restores them.

import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

const KEPT = 'package.json.kept'

/** Overrides of the package's own options: every supported Node and browser runs the result. */
const OPTIONS = {
  rootDir: '../src',
  outDir: '.',
  noEmit: false,
  noEmitOnError: true,
  declaration: true,
  rewriteRelativeImportExtensions: true,
  target: 'es2022',
  // The last two are parts of later editions of ECMAScript that Node 20 supports.
  lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable', 'es2023.array', 'es2024.string'],
}

interface Manifest {
  readonly [member: string]: unknown
  readonly name?: string
  readonly exports?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

// In every manifest of the workspace, the members that this script reads have these types.
const manifestAt = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest

/** Restores the manifest that an earlier `prepack` replaced, if any. */
function restore(folder: string): void {
  if (existsSync(join(folder, KEPT))) renameSync(join(folder, KEPT), join(folder, 'package.json'))
}

/** Builds `dist` and points package.json to it; keeps a copy of the original. */
function prepare(folder: string): void {
  restore(folder)
  const manifest = manifestAt(join(folder, 'package.json'))
  build(folder, manifest)
  const path = join(folder, 'package.json')
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, join(folder, KEPT))
  writeFileSync(`${path}.copy`, `${JSON.stringify(published(manifest), null, 2)}\n`)
  renameSync(`${path}.copy`, path)
}

const inDist = (source: string, extension: string): string =>
  source.replace(/^\.\/src\/(.*)\.ts$/, `./dist/$1.${extension}`)

/** The manifest as published. */
function published(manifest: Manifest): Manifest {
  const { scripts, devDependencies, ...rest } = manifest
  const entries = Object.entries(manifest.exports ?? {}).map(([name, source]) => [
    name,
    source.endsWith('.ts')
      ? { types: inDist(source, 'd.ts'), default: inDist(source, 'js') }
      : source,
  ])
  const commands = Object.entries(manifest.bin ?? {}).map(([name, source]) => [
    name,
    inDist(source, 'js'),
  ])
  return {
    ...rest,
    exports: Object.fromEntries(entries),
    ...(commands.length === 0 ? {} : { bin: Object.fromEntries(commands) }),
  }
}

type Paths = Readonly<Record<string, readonly string[]>>

/**
 * Compiles the package, after the packages that it uses, because it needs their declarations.
 * @returns paths of the declarations of this package and of the packages that it uses
 */
function build(folder: string, manifest: Manifest): Paths {
  const paths: Record<string, readonly string[]> = {}
  for (const used of usedBy(manifest)) {
    const its = join(folder, '..', basename(used))
    Object.assign(paths, useBuilt(its, sourceManifest(its)))
  }
  const dist = join(folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist)
  const config = join(dist, 'tsconfig.json')
  writeFileSync(
    config,
    JSON.stringify({ extends: '../tsconfig.json', compilerOptions: { ...OPTIONS, paths } }),
  )
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const tsc = join(typescript, 'bin/tsc')
  const { status } = spawnSync(process.execPath, [tsc, '-p', config], { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`${manifest.name} does not compile`)
  rmSync(config)
  return { ...paths, ...declarationsOf(folder, manifest) }
}

/** The packages of the workspace that the package uses. */
const usedBy = ({ dependencies, peerDependencies }: Manifest): string[] =>
  Object.keys({ ...dependencies, ...peerDependencies }).filter((name) =>
    name.startsWith('@custos/'),
  )

const declarationsOf = (folder: string, { name, exports }: Manifest) =>
  Object.fromEntries(
    Object.entries(exports ?? {}).map(([entry, source]): [string, string[]] => [
      `${name}${entry.slice(1)}`,
      [join(folder, inDist(source, 'd.ts'))],
    ]),
  )

/** Paths of the declarations of a package, which is compiled first if its sources have changed. */
function useBuilt(folder: string, manifest: Manifest): Paths {
  const times = (part: string): number[] =>
    readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' }).map(
      (path) => statSync(join(folder, part, path)).mtimeMs,
    )
  const isCurrent =
    existsSync(join(folder, 'dist')) && Math.min(...times('dist')) > Math.max(...times('src'))
  if (!isCurrent) return build(folder, manifest)
  const paths: Record<string, readonly string[]> = declarationsOf(folder, manifest)
  for (const used of usedBy(manifest)) {
    const its = join(folder, '..', basename(used))
    Object.assign(paths, useBuilt(its, sourceManifest(its)))
  }
  return paths
}

/** The original manifest, also while it is replaced. */
function sourceManifest(folder: string): Manifest {
  const kept = join(folder, KEPT)
  return manifestAt(existsSync(kept) ? kept : join(folder, 'package.json'))
}

const [step = ''] = process.argv.slice(2)
if (step === 'restore') restore(process.cwd())
else if (step === 'prepare') prepare(process.cwd())
else throw new Error('usage: package.ts prepare | restore, in the folder of a package')

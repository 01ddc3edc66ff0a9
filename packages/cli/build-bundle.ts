// Bundles a program and the packages of this repository in few files without types. They start
// faster and hold less memory than the sources.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'

/** Libraries of many small modules. The others are loaded as they are installed. */
const BUNDLED = ['@custos/', '@noble/hashes', 'kysely', 'typebox']

/** Files of one build are written within this time. */
const BUILD_MS = 60_000

const isBundled = (path: string): boolean =>
  path.startsWith('.') || path.startsWith('/') || BUNDLED.some((name) => path.startsWith(name))

/** Files beside a source (a worker, a page, a model) are found from the output too. */
function withOwnUrl(path: string, output: string): string {
  const own = relative(output, path).split(sep).join('/')
  const url = `new URL(${JSON.stringify(own)}, import.meta.url)`
  return readFileSync(path, 'utf8').replace(/\bimport\.meta\.url\b/g, `${url}.href`)
}

/**
 * Writes the bundle into the folder `output`, its first file named after the source: the path of
 * that file, how many files there are and their bytes. Throws where esbuild is not installed.
 */
export async function writeBundle(
  entry: string,
  output: string,
): Promise<{ path: string; files: number; bytes: number }> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [entry],
    outdir: output,
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    charset: 'utf8',
    legalComments: 'none',
    plugins: [
      {
        name: 'custos',
        setup({ onLoad, onResolve }) {
          onResolve({ filter: /./ }, ({ path, kind }) =>
            kind === 'entry-point' || isBundled(path) ? null : { path, external: true },
          )
          onLoad({ filter: /packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
            contents: withOwnUrl(path, output),
            loader: 'ts',
            resolveDir: dirname(path),
          }))
        },
      },
    ],
  })
  const first = join(output, basename(entry).replace(/\.ts$/, '.js'))
  // A service that runs loads more files later: those of the build before stay until the next one.
  const before_ms = existsSync(first) ? statSync(first).mtimeMs : 0
  mkdirSync(output, { recursive: true })
  const isFirst = ({ path }: { path: string }) => path === first
  // The entry last: it stands for a build that is complete.
  for (const { path, contents } of outputFiles.toSorted((a, b) => +isFirst(a) - +isFirst(b))) {
    // Two builds at a time each write files of their own.
    writeFileSync(`${path}.${process.pid}`, contents)
    renameSync(`${path}.${process.pid}`, path)
  }
  const written = new Set(outputFiles.map(({ path }) => path))
  for (const path of readdirSync(output).map((name) => join(output, name)))
    if (!written.has(path) && statSync(path).mtimeMs < before_ms - BUILD_MS) rmSync(path)
  const bytes = outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)
  return { path: first, files: outputFiles.length, bytes }
}

// Builds dist: the command and the service in few files without types. They start faster and hold
// less memory than the sources.

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
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const OUTPUT = fileURLToPath(new URL('dist', import.meta.url))
const ENTRY = fileURLToPath(new URL('src/commands/main.ts', import.meta.url))
/** Libraries of many small modules. The others are loaded as they are installed. */
const BUNDLED = ['@custos/', '@noble/hashes', 'kysely', 'typebox']

/** Files of one build are written within this time. */
const BUILD_MS = 60_000

/** An installation without development packages runs the sources. */
async function loadBundler(): Promise<typeof import('esbuild')> {
  try {
    return await import('esbuild')
  } catch (error) {
    if (!process.argv.includes('--where-possible')) throw error
    console.error('command: not built, because esbuild is not installed')
    process.exit(0)
  }
}

/** Files beside a source (a worker, a page, a model) are found from dist too. */
function withOwnUrl(path: string): string {
  const own = relative(OUTPUT, path).split(sep).join('/')
  const url = `new URL(${JSON.stringify(own)}, import.meta.url)`
  return readFileSync(path, 'utf8').replace(/\bimport\.meta\.url\b/g, `${url}.href`)
}

const isBundled = (path: string): boolean =>
  path.startsWith('.') || path.startsWith('/') || BUNDLED.some((name) => path.startsWith(name))

const { build } = await loadBundler()
const start = performance.now()
const { outputFiles } = await build({
  entryPoints: [ENTRY],
  outdir: OUTPUT,
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
          contents: withOwnUrl(path),
          loader: 'ts',
          resolveDir: dirname(path),
        }))
      },
    },
  ],
})
const ENTRY_BUILT = join(OUTPUT, 'main.js')
// A service that runs loads more files later: those of the build before stay until the next one.
const before_ms = existsSync(ENTRY_BUILT) ? statSync(ENTRY_BUILT).mtimeMs : 0
mkdirSync(OUTPUT, { recursive: true })
const isEntry = ({ path }: { path: string }) => path === ENTRY_BUILT
// The entry last: it stands for a build that is complete.
for (const { path, contents } of outputFiles.toSorted((a, b) => +isEntry(a) - +isEntry(b))) {
  writeFileSync(`${path}.new`, contents)
  renameSync(`${path}.new`, path)
}
const built = new Set(outputFiles.map(({ path }) => path))
for (const path of readdirSync(OUTPUT).map((name) => join(OUTPUT, name)))
  if (!built.has(path) && statSync(path).mtimeMs < before_ms - BUILD_MS) rmSync(path)
const bytes = outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)
const seconds = ((performance.now() - start) / 1000).toFixed(1)
console.log(
  `command: ${outputFiles.length} files, ${Math.round(bytes / 1024)} kB, built in ${seconds} s`,
)

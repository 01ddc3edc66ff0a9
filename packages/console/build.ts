// Builds dist: the console's page and its hashed assets. With --dev it serves the sources instead,
// with the API of a local service behind them.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InlineConfig } from 'vite'

const ROOT = fileURLToPath(new URL('.', import.meta.url))
const SERVICE = 'http://127.0.0.1:8420'

/** An installation without development packages keeps what was built before. */
async function loadBundler(): Promise<typeof import('vite')> {
  try {
    return await import('vite')
  } catch (error) {
    if (!process.argv.includes('--where-possible')) throw error
    console.error('console: not built, because vite is not installed')
    process.exit(0)
  }
}

const { build, createServer } = await loadBundler()
const config: InlineConfig = {
  root: ROOT,
  configFile: false,
  base: '/console/',
  logLevel: 'warn',
  publicDir: false,
  build: {
    outDir: join(ROOT, 'dist'),
    emptyOutDir: true,
    target: 'es2022',
    // The page's policy allows no inline data but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Libraries mark their files for servers that render; nothing is rendered there.
      onwarn(warning, warn) {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning)
      },
    },
  },
  server: { host: '127.0.0.1', proxy: { '/v1': { target: SERVICE, changeOrigin: true } } },
}

if (process.argv.includes('--dev')) {
  const server = await createServer({ ...config, logLevel: 'info' })
  await server.listen()
  server.printUrls()
} else {
  const start = performance.now()
  await build(config)
  console.log(`console: built in ${((performance.now() - start) / 1000).toFixed(1)} s`)
}

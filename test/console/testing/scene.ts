// The console as a person meets it: a real service, a real browser. Every console message, every
// report of the page's policy and every failed request fails the test.

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { type LocalService, serveLocally } from '../../../packages/cli/src/testing/serve-locally.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8')
const CONSOLE = join(ROOT, 'packages/console')
export const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
export const QUIET = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync']
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** A busy machine is no fault of the page. */
const WAIT_MS = 60_000
const WIDE = { width: 1440, height: 900 }

/** Names that would break a page that takes text for HTML, or that is too narrow for it. */
export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '‮gnp.exe‬ שלום עולם',
  'W'.repeat(256),
  '"; DROP TABLE memories; --',
]

/** The console that was built must be the one of the sources. */
function assertBuilt(): void {
  const page = join(CONSOLE, 'dist/index.html')
  const sources = globSync('{src/**/*.*,index.html,build.ts}', { cwd: CONSOLE })
  const newest = Math.max(...sources.map((path) => statSync(join(CONSOLE, path)).mtimeMs))
  const built = existsSync(page) && statSync(page).mtimeMs >= newest
  assert.ok(built, 'the console is older than its sources: npm run build:console')
}

interface VisitOptions {
  /** Of the window; default 1440. */
  readonly width?: number
  readonly theme?: 'light' | 'dark'
  /** Share of the default size of everything, as a browser's zoom has it. */
  readonly zoom?: number
  /** Statuses of answers that the test expects, for example 404. */
  readonly statuses?: readonly number[]
}

export interface Visit {
  readonly page: Page
  /** Asserts that axe finds nothing to complain about. */
  accessible(): Promise<void>
  /** Asserts that nothing is wider than the window. */
  fits(): Promise<void>
  /** Asserts that the page complained of nothing, and closes it. */
  end(): Promise<void>
}

export interface Scene {
  readonly local: LocalService
  /** Opens a path below /console. */
  visit(path: string, options?: VisitOptions): Promise<Visit>
}

/** Looks at a path in both colours and at phone width: nothing may be wrong or too wide. */
export async function checkLooks({ visit }: Scene, path: string): Promise<void> {
  const { page, accessible, fits, end } = await visit(path)
  await page.locator('[role=status][class*=loading]').first().waitFor({ state: 'detached' })
  await accessible()
  await page.emulateMedia({ colorScheme: 'dark' })
  await accessible()
  // Half of a large screen, and a tablet.
  await page.setViewportSize({ width: 1024, height: 768 })
  await fits()
  // A window of 1440 by 900 at 200 %, and a phone.
  for (const size of [
    { width: 720, height: 450 },
    { width: 390, height: WIDE.height },
  ]) {
    await page.setViewportSize(size)
    await accessible()
    await fits()
  }
  // The same window at 400 %, less its scroll bar.
  await page.setViewportSize({ width: 305, height: 225 })
  await fits()
  await end()
}

/** Registers the service and the browser of a test file; returns how to write its tests. */
export function consoleScene(env: object = {}) {
  const ends: (() => void | Promise<void>)[] = []
  let browser: Browser | null = null
  let local: LocalService
  before(async () => {
    assertBuilt()
    const executablePath = BROWSERS.find((path) => existsSync(path))
    if (executablePath) browser = await chromium.launch({ executablePath, args: QUIET })
    local = await serveLocally({ after: (end) => void ends.push(end) }, { env })
  })
  after(async () => {
    await browser?.close()
    for (const end of ends.reverse()) await end()
  })
  return (title: string, run: (scene: Scene) => Promise<void>) =>
    test(title, async (t: TestContext) => {
      if (browser) {
        const windows = new Windows(browser, local.url)
        t.after(() => windows.close())
        return run({ local, visit: (path, options) => visit(windows, path, options) })
      }
      // Continuous integration installs a browser: there its absence is a failure.
      assert.equal(process.env['CI'], undefined, 'no Chromium found for the console tests')
      return t.diagnostic('no Chromium on this machine: the console was not opened')
    })
}

/** One tab of an incognito window of its own, and what its page complained of. */
interface Tab {
  readonly page: Page
  readonly devtools: CDPSession
  statuses: readonly number[]
  complaints: string[]
}

/**
 * The windows of one test. A visit that ends leaves its window, emptied, to the next one: to open
 * a window takes as long as to load the console twice.
 */
class Windows {
  readonly browser: Browser
  readonly url: string
  readonly #opened: Tab[] = []
  readonly #free: Tab[] = []

  constructor(browser: Browser, url: string) {
    this.browser = browser
    this.url = url
  }

  async take(): Promise<Tab> {
    const free = this.#free.pop()
    if (free) return free
    const context = await this.browser.newContext()
    const page = await context.newPage()
    page.setDefaultTimeout(WAIT_MS)
    const devtools = await context.newCDPSession(page)
    const tab: Tab = { page, devtools, statuses: [], complaints: [] }
    listen(tab, this.url)
    this.#opened.push(tab)
    return tab
  }

  /** Removes cookies, stored data, routes and other windows of a visit; its history stays. */
  async free(tab: Tab): Promise<void> {
    const { page, devtools } = tab
    const context = page.context()
    for (const other of context.pages()) if (other !== page) await other.close()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // Refused where the visit has ended on a page without storage.
    await page.evaluate('sessionStorage.clear()').catch(() => {})
    // A page of another site would take another process, and one without an icon would ask for it.
    await devtools.send('Emulation.setScriptExecutionDisabled', { value: true })
    await page.goto(`${this.url}/console`)
    await devtools.send('Emulation.setScriptExecutionDisabled', { value: false })
    await page.mouse.move(-1, -1)
    await context.clearCookies()
    await devtools.send('Storage.clearDataForOrigin', { origin: this.url, storageTypes: 'all' })
    this.#free.push(tab)
  }

  async close(): Promise<void> {
    for (const { page } of this.#opened) await page.context().close()
  }
}

async function visit(
  windows: Windows,
  path: string,
  { width = WIDE.width, theme = 'light', zoom = 1, statuses = [] }: VisitOptions = {},
): Promise<Visit> {
  const tab = await windows.take()
  const complaints: string[] = []
  Object.assign(tab, { complaints, statuses })
  const { page } = tab
  await page.emulateMedia({ media: null, colorScheme: theme, reducedMotion: 'reduce' })
  await page.setViewportSize({
    width: Math.round(width / zoom),
    height: Math.round(WIDE.height / zoom),
  })
  await page.goto(`${windows.url}/console${path === '/' ? '' : path}`)
  await page.locator('h1').first().waitFor()
  return {
    page,
    async accessible() {
      if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE)
      // Without the thousands of things that axe finds right.
      const options = JSON.stringify({ runOnly: RULES, resultTypes: ['violations'] })
      const violations = `axe.run(document, ${options}).then(({ violations }) => violations)`
      const found = await page.evaluate<AxeViolation[]>(violations)
      assert.deepEqual(found.map(describe), [])
    },
    async fits() {
      const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      assert.equal(await page.evaluate<number>(over), 0, `${path} is too wide`)
    },
    async end() {
      assert.deepEqual(complaints, [])
      await windows.free(tab)
    },
  }
}

interface AxeViolation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

const describe = ({ id, nodes }: AxeViolation): string =>
  `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary ?? ''}`).join('; ')}`

/** Adds what the page complains of to the visit that its tab has at the time. */
function listen(tab: Tab, url: string): void {
  const { page } = tab
  const complain = (text: string) => void tab.complaints.push(text)
  page.on('pageerror', (error) => complain(String(error)))
  page.on('console', (message) => {
    // The browser reports each refused request in words of its own.
    const isStatus = tab.statuses.some((status) => message.text().includes(`status of ${status}`))
    if (!isStatus) complain(`${message.type()}: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!/^data:|^blob:/.test(request.url()) && !request.url().startsWith(url))
      complain(`left for ${request.url()}`)
  })
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    // A screen that is left stops its own reads.
    if (reason !== 'net::ERR_ABORTED') complain(`${request.url()} failed: ${reason}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400 && !tab.statuses.includes(response.status()))
      complain(`${response.status()} ${response.url()}`)
  })
}

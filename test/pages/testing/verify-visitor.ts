// Opens the verify page in a real browser and gives it files, as an auditor would.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const QUIET = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync']

export const PAGE_FILE = join(ROOT, 'packages/verify-page/dist/verify.html')

/** Builds the page that the sources describe now; what was built before may be older. */
export const buildVerifyPage = (): Promise<unknown> =>
  promisify(execFile)(process.execPath, [join(ROOT, 'packages/verify-page/build.ts')])

export async function launchBrowser(): Promise<Browser | null> {
  const executablePath = BROWSERS.find((path) => existsSync(path))
  return executablePath ? chromium.launch({ executablePath, args: QUIET }) : null
}

/** A file by its name and text. */
export type NamedText = readonly [name: string, text: string]

export interface Visit {
  readonly page: Page
  /** Addresses that the page asked for, itself left out. */
  readonly requests: string[]
  /** Errors, warnings and refusals by the page's policy. */
  readonly complaints: string[]
  /** The verdict of each file that is no key list, in their order. */
  judge(files: readonly NamedText[], documents?: number): Promise<string[]>
}

export async function visit(
  browser: Browser,
  address = pathToFileURL(PAGE_FILE).href,
  options: BrowserContextOptions & { readonly before?: string } = {},
): Promise<Visit> {
  const { before, ...rest } = options
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...rest })
  if (before !== undefined) await context.addInitScript(before)
  const page = await context.newPage()
  const requests: string[] = []
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => complaints.push(message.text()))
  page.on('request', (request) => {
    if (request.url() !== address && !request.url().startsWith('data:'))
      requests.push(request.url())
  })
  await page.goto(address)
  return {
    page,
    requests,
    complaints,
    async judge(files, documents) {
      const clear = page.getByRole('button', { name: 'Clear' })
      if (await clear.isVisible()) await clear.click()
      await page.locator('#picker').setInputFiles(
        files.map(([name, text]) => ({
          name,
          mimeType: 'application/json',
          buffer: Buffer.from(text),
        })),
      )
      const count = documents ?? '[1-9]\\d*'
      await page.locator('#status', { hasText: new RegExp(`^${count} checked`) }).waitFor()
      return page
        .locator('article h3 .badge')
        .evaluateAll((all) => all.map((badge) => (badge.textContent ?? '').slice(1)))
    },
  }
}

// The frame of the console: navigation, palette, colours, sizes.

import assert from 'node:assert/strict'
import { consoleScene } from './testing/scene.ts'

const scene = consoleScene()

for (const theme of ['light', 'dark'] as const)
  scene(
    `the frame has no barrier in ${theme} colours, wide, narrow and at 200 %`,
    async ({ visit }) => {
      for (const options of [{}, { width: 390 }, { zoom: 2 }]) {
        const { accessible, fits, end } = await visit('/', { theme, ...options })
        await accessible()
        await fits()
        await end()
      }
    },
  )

scene('the keyboard alone reaches a screen by the palette', async ({ visit }) => {
  const { page, accessible, end } = await visit('/')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Screen, store or id' }).fill('over')
  await accessible()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  await end()
})

scene('an address that no screen has says so', async ({ visit, local }) => {
  const { page, end } = await visit('/')
  await page.goto(`${local.url}/console/nowhere`)
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
  await end()
})

scene('a machine without a network reads from its own service and writes to it', async (given) => {
  const { page, end } = await given.visit('/stores')
  await page.evaluate("dispatchEvent(new Event('offline'))")
  await page.getByRole('button', { name: 'New store' }).click()
  await page.getByLabel('Name').fill('Without a network')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Without a network' }).waitFor()
  await end()
})

scene('a screen whose style has gone, as after an update, is loaded again', async (given) => {
  const { page, end } = await given.visit('/health', { statuses: [404] })
  const gone = page.waitForResponse((response) => response.status() === 404)
  await page.route('**/assets/evidence-*.css', (route) => route.fulfill({ status: 404 }), {
    times: 1,
  })
  await page.getByRole('link', { name: 'Evidence' }).click()
  await gone
  await page.getByRole('heading', { level: 1, name: 'Evidence' }).waitFor()
  await end()
})

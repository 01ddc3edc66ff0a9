// The line of waiting PDFs has an end, and a PDF that nobody waits for is not made.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleReport } from '../testing/sample-report.ts'
import { ALL_MAX, PdfPrinter, PrinterBusy, PrintingCancelled, TENANT_MAX } from './printer.ts'

const report = sampleReport({ report_type: 'gdpr' })
const FILE = new Uint8Array([1])

function newPrinter() {
  const gate = Promise.withResolvers<void>()
  let made = 0
  const printer = new PdfPrinter(async () => {
    await gate.promise
    made += 1
    return FILE
  })
  const ask = (tenant_id: string, gone = new AbortController().signal) =>
    printer.print({ tenant_id, source: report, gone })
  return { gate, ask, made: () => made }
}

const isBusy = (error: unknown): boolean =>
  error instanceof PrinterBusy && error.retry_after_s === 5

test('the lines of a tenant and of all are full at their limits, and free after', async () => {
  const { gate, ask } = newPrinter()
  const waiting = Array.from({ length: TENANT_MAX }, () => ask('t1'))
  await assert.rejects(ask('t1'), isBusy)
  for (let i = waiting.length; i < ALL_MAX; i += 1) waiting.push(ask(`other ${i}`))
  await assert.rejects(ask('one more'), isBusy)
  gate.resolve()
  for (const file of await Promise.all(waiting)) assert.equal(file, FILE)
  assert.equal(await ask('t1'), FILE)
})

test('a PDF is not made for a caller that left while waiting', async () => {
  const { gate, ask, made } = newPrinter()
  const gone = new AbortController()
  const [first, second, third] = [ask('t1'), ask('t1', gone.signal), ask('t1')]
  gone.abort()
  gate.resolve()
  await assert.rejects(second, PrintingCancelled)
  await Promise.all([first, third])
  assert.equal(made(), 2)
})

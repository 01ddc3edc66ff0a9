// Reads the metrics of a service as Prometheus does.

import assert from 'node:assert/strict'
import type { TestService } from '../../../testing/harness.ts'
import { readings } from '../index.ts'

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples and the text they are from, with values of stored state as of now. */
export async function scrape(service: TestService) {
  readings(service.kernel).again_ms = Number.NEGATIVE_INFINITY
  const { status, text } = await service.request('GET', '/metrics', { key: service.operator_key })
  assert.equal(status, 200, text)
  const samples = samplesOf(text)
  /** The one sample that has these labels; undefined: there is none. */
  const sampleOf = (name: string, labels: Sample['labels'] = {}) => {
    const wanted = Object.entries(labels)
    const found = samples.filter(
      (one) => one.name === name && wanted.every(([key, value]) => one.labels[key] === value),
    )
    assert.ok(found.length <= 1, `${name} has several samples`)
    return found[0]?.value
  }
  return { text, samples, sampleOf }
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/

export const samplesOf = (text: string): Sample[] =>
  text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return []
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(line)
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [
      key,
      text,
    ])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })

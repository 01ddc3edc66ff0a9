// Settings of metrics and traces: the defaults keep both closed, and a wrong value stops the start.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from './config.ts'
import { ConfigError, type Environment } from './env.ts'

test('metrics are closed, on the port of the service, and there are no spans, unless told', () => {
  const { metrics, otlp_endpoint } = parseConfig({})
  assert.deepEqual(metrics, { address: null, open: false, compat: false })
  assert.equal(otlp_endpoint, null)
})

test('a port of its own for metrics is on loopback unless told', () => {
  const addressOf = (env: Environment) => parseConfig(env).metrics.address
  assert.deepEqual(addressOf({ CUSTOS_METRICS_PORT: '9464' }), { host: '127.0.0.1', port: 9464 })
  const env = { CUSTOS_METRICS_PORT: '0', CUSTOS_METRICS_HOST: '10.0.0.1' }
  assert.deepEqual(addressOf(env), { host: '10.0.0.1', port: 0 })
})

test('a setting of metrics or traces that cannot be used is refused', () => {
  const wrong: Environment[] = [
    { CUSTOS_METRICS_PORT: '65536' },
    { CUSTOS_METRICS_PORT: 'http' },
    { CUSTOS_METRICS_HOST: '10.0.0.1' },
    { CUSTOS_METRICS_PORT: '8420' },
    { CUSTOS_HOST: '[::1]', CUSTOS_METRICS_HOST: '::1', CUSTOS_METRICS_PORT: '8420' },
    { CUSTOS_METRICS_PUBLIC: 'yes' },
    { CUSTOS_METRICS_COMPAT: '2' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { CUSTOS_METRICS_PORT: '9464', CUSTOS_METRICS_HOST: 'http://10.0.0.1' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318?x=1' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:secret@collector:4318' },
  ]
  for (const env of wrong) assert.throws(() => parseConfig(env), ConfigError, JSON.stringify(env))
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  assert.equal(parseConfig(traced).otlp_endpoint, 'http://127.0.0.1:4318')
})

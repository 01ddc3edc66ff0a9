// Settings of embedders: a wrong one stops the start with a line that names it without its value.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from './config.ts'
import { DEFAULT_EMBEDDER } from './embedder-config.ts'
import { ConfigError, type Environment } from './env.ts'

const HTTP = {
  CUSTOS_EMBEDDER_URL: 'https://embed.example/v1',
  CUSTOS_EMBEDDER_MODEL: 'model-x',
  CUSTOS_EMBEDDER_DIMENSIONS: '384',
}

test('without settings the default embedder is used and nothing leaves the process', () => {
  const { embedder } = parseConfig({})
  assert.deepEqual(embedder, { default_name: DEFAULT_EMBEDDER, http: null, onnx: null })
})

test('the service is set by its base address or by the whole address of the operation', () => {
  const urls: [string, string][] = [
    ['https://embed.example/v1', 'https://embed.example/v1/embeddings'],
    ['https://embed.example/v1/', 'https://embed.example/v1/embeddings'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/embeddings'],
    [
      'https://e.example/x/embeddings?api-version=1',
      'https://e.example/x/embeddings?api-version=1',
    ],
  ]
  for (const [given, url] of urls) {
    const { http } = parseConfig({ ...HTTP, CUSTOS_EMBEDDER_URL: given }).embedder
    assert.equal(http?.url, url)
    assert.deepEqual([http?.dimensions, http?.timeout_ms, http?.key], [384, 5_000, null])
  }
})

const WRONG: [Environment, string][] = [
  [{ CUSTOS_EMBEDDER: 'secret-words' }, 'CUSTOS_EMBEDDER must be one of'],
  [{ CUSTOS_EMBEDDER: 'http' }, 'CUSTOS_EMBEDDER can be http only with'],
  [{ CUSTOS_EMBEDDER: 'onnx' }, 'CUSTOS_EMBEDDER can be onnx only with'],
  [{ CUSTOS_EMBEDDER_MODEL: 'x' }, 'CUSTOS_EMBEDDER_MODEL requires'],
  [{ CUSTOS_EMBEDDER_KEY: 'secret-words' }, 'CUSTOS_EMBEDDER_KEY requires'],
  [{ ...HTTP, CUSTOS_EMBEDDER_URL: 'secret-words' }, 'CUSTOS_EMBEDDER_URL must be a URL'],
  [{ ...HTTP, CUSTOS_EMBEDDER_URL: 'file:///secret-words' }, 'CUSTOS_EMBEDDER_URL must be a URL'],
  [
    { ...HTTP, CUSTOS_EMBEDDER_URL: 'https://me:secret-words@embed.example' },
    'CUSTOS_EMBEDDER_URL must not contain credentials',
  ],
  [{ ...HTTP, CUSTOS_EMBEDDER_KEY: 'secret-words\r\nx: y' }, 'CUSTOS_EMBEDDER_KEY must be'],
  [{ ...HTTP, CUSTOS_EMBEDDER_MODEL: 'secret words' }, 'CUSTOS_EMBEDDER_MODEL must be'],
  [{ ...HTTP, CUSTOS_EMBEDDER_DIMENSIONS: '0' }, 'CUSTOS_EMBEDDER_DIMENSIONS must be a whole'],
  [{ ...HTTP, CUSTOS_EMBEDDER_DIMENSIONS: '4097' }, 'CUSTOS_EMBEDDER_DIMENSIONS must be a whole'],
  [{ ...HTTP, CUSTOS_EMBEDDER_TIMEOUT: '1s' }, 'CUSTOS_EMBEDDER_TIMEOUT must be a whole'],
  [{ CUSTOS_EMBEDDER_URL: 'https://e.example' }, 'CUSTOS_EMBEDDER_MODEL is required with'],
  [{ CUSTOS_ONNX_MODEL: '/m.onnx' }, 'CUSTOS_ONNX_TOKENIZER is required'],
  [{ CUSTOS_ONNX_TOKENIZER: '/vocab.txt' }, 'CUSTOS_ONNX_MODEL is required'],
]

for (const [env, line] of WRONG)
  test(`${line}…`, () => {
    assert.throws(
      () => parseConfig(env),
      (error) => {
        assert.ok(error instanceof ConfigError)
        assert.ok(error.message.startsWith(line), error.message)
        assert.ok(!error.message.includes('secret') && !error.message.includes('\n'))
        return true
      },
    )
  })

// Settings of embedders: which ones are configured, and which one new stores use.

import { resolve } from 'node:path'
import { EMBEDDERS, type EmbedderName } from '@custos/contract'
import { type Environment, integer, type SettingName, wrong } from './env.ts'

export interface EmbedderConfig {
  /** The embedder of a store that is created without naming one. */
  readonly default_name: EmbedderName
  /** Null if not configured. */
  readonly http: {
    /** Full URL of the endpoint; `/embeddings` is appended to a configured base URL. */
    readonly url: string
    readonly model: string
    readonly key: string | null
    readonly dimensions: number
    readonly timeout_ms: number
  } | null
  readonly onnx: { readonly model: string; readonly tokenizer: string } | null
}

export const DEFAULT_EMBEDDER: EmbedderName = 'static'

export function embedderConfig(env: Environment): EmbedderConfig {
  const [http, onnx] = [httpEmbedder(env), onnxEmbedder(env)]
  const given = env.CUSTOS_EMBEDDER ?? DEFAULT_EMBEDDER
  const default_name = EMBEDDERS.find((name) => name === given)
  if (default_name === undefined)
    throw wrong('CUSTOS_EMBEDDER', `must be one of ${EMBEDDERS.join(', ')}`)
  if (default_name === 'http' && http === null)
    throw wrong('CUSTOS_EMBEDDER', 'can be http only with CUSTOS_EMBEDDER_URL')
  if (default_name === 'onnx' && onnx === null)
    throw wrong('CUSTOS_EMBEDDER', 'can be onnx only with CUSTOS_ONNX_MODEL')
  return { default_name, http, onnx }
}

function httpEmbedder(env: Environment): EmbedderConfig['http'] {
  const given = env.CUSTOS_EMBEDDER_URL
  const needs = ['CUSTOS_EMBEDDER_MODEL', 'CUSTOS_EMBEDDER_DIMENSIONS'] as const
  if (given === undefined) {
    const alone = [...needs, 'CUSTOS_EMBEDDER_KEY' as const].find((name) => env[name] !== undefined)
    if (alone) throw wrong(alone, 'requires CUSTOS_EMBEDDER_URL')
    return null
  }
  // Both are part of the space's name, and the start does not query the embedding service for them.
  for (const name of needs)
    if (env[name] === undefined) throw wrong(name, 'is required with CUSTOS_EMBEDDER_URL')
  return {
    url: endpointOf(given),
    model: modelName(env),
    key: key(env),
    dimensions: integer(env, 'CUSTOS_EMBEDDER_DIMENSIONS'),
    timeout_ms: integer(env, 'CUSTOS_EMBEDDER_TIMEOUT'),
  }
}

function endpointOf(given: string): string {
  const url = URL.parse(given)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw wrong('CUSTOS_EMBEDDER_URL', 'must be a URL that begins with http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw wrong('CUSTOS_EMBEDDER_URL', 'must not contain credentials: use CUSTOS_EMBEDDER_KEY')
  url.hash = ''
  if (!url.pathname.endsWith('/embeddings'))
    url.pathname = `${url.pathname.replace(/\/$/, '')}/embeddings`
  return url.href
}

function modelName(env: Environment): string {
  const given = env.CUSTOS_EMBEDDER_MODEL ?? ''
  if (/^[!-~]{1,200}$/.test(given)) return given
  throw wrong('CUSTOS_EMBEDDER_MODEL', 'must be up to 200 printable characters without spaces')
}

function key(env: Environment): string | null {
  const given = env.CUSTOS_EMBEDDER_KEY
  if (given === undefined) return null
  // Other characters are not valid in an HTTP header.
  if (/^[!-~]{1,4096}$/.test(given)) return given
  throw wrong('CUSTOS_EMBEDDER_KEY', 'must be printable characters without spaces')
}

function onnxEmbedder(env: Environment): EmbedderConfig['onnx'] {
  const [model, tokenizer] = [env.CUSTOS_ONNX_MODEL, env.CUSTOS_ONNX_TOKENIZER]
  if (model === undefined && tokenizer === undefined) return null
  const missing: SettingName = model === undefined ? 'CUSTOS_ONNX_MODEL' : 'CUSTOS_ONNX_TOKENIZER'
  if (model === undefined || tokenizer === undefined)
    throw wrong(missing, 'is required: a model and its tokenizer go together')
  return { model: resolve(model), tokenizer: resolve(tokenizer) }
}

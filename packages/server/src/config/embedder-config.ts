// The settings of embedders: which are configured, and which one new stores get.

import { resolve } from 'node:path'
import { EMBEDDERS, type EmbedderName } from '@custos/contract'
import { DIMENSIONS_MAX } from '../platform/embed/embedder.ts'
import type { Environment, SettingName } from './env.ts'
import { integer, wrong } from './values.ts'

export interface EmbedderConfig {
  /** What a store is created with that asks for none. */
  readonly default_name: EmbedderName
  /** Null: not configured. */
  readonly http: HttpEmbedderConfig | null
  readonly onnx: OnnxEmbedderConfig | null
}

export interface HttpEmbedderConfig {
  /** Of the operation itself, ending in `/embeddings` where no other path was meant. */
  readonly url: string
  readonly model: string
  readonly key: string | null
  readonly dimensions: number
  readonly timeout_ms: number
}

export interface OnnxEmbedderConfig {
  readonly model: string
  readonly tokenizer: string
}

export const DEFAULT_EMBEDDER: EmbedderName = 'static'
const TIMEOUT_MS = 5_000

export function embedderConfig(env: Environment): EmbedderConfig {
  const [http, onnx] = [httpEmbedder(env), onnxEmbedder(env)]
  const given = env.CUSTOS_EMBEDDER ?? DEFAULT_EMBEDDER
  const default_name = EMBEDDERS.find((name) => name === given)
  if (default_name === undefined)
    throw wrong('CUSTOS_EMBEDDER', `must be one of ${EMBEDDERS.join(', ')}`)
  if (default_name === 'http' && http === null)
    throw wrong('CUSTOS_EMBEDDER', 'can be http only together with CUSTOS_EMBEDDER_URL')
  if (default_name === 'onnx' && onnx === null)
    throw wrong('CUSTOS_EMBEDDER', 'can be onnx only together with CUSTOS_ONNX_MODEL')
  return { default_name, http, onnx }
}

function httpEmbedder(env: Environment): HttpEmbedderConfig | null {
  const given = env.CUSTOS_EMBEDDER_URL
  const needs = ['CUSTOS_EMBEDDER_MODEL', 'CUSTOS_EMBEDDER_DIMENSIONS'] as const
  if (given === undefined) {
    const alone = [...needs, 'CUSTOS_EMBEDDER_KEY' as const].find((name) => env[name] !== undefined)
    if (alone) throw wrong(alone, 'is used only together with CUSTOS_EMBEDDER_URL')
    return null
  }
  // They name the space the vectors are in, and the start does not wait for the service to say.
  for (const name of needs)
    if (env[name] === undefined) throw wrong(name, 'must be given with CUSTOS_EMBEDDER_URL')
  return {
    url: endpointOf(given),
    model: modelName(env),
    key: key(env),
    dimensions: integer(env, 'CUSTOS_EMBEDDER_DIMENSIONS', 0, { min: 1, max: DIMENSIONS_MAX }),
    timeout_ms: integer(env, 'CUSTOS_EMBEDDER_TIMEOUT', TIMEOUT_MS, { min: 50, max: 120_000 }),
  }
}

function endpointOf(given: string): string {
  const url = URL.parse(given)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw wrong('CUSTOS_EMBEDDER_URL', 'must be a URL that begins with http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw wrong('CUSTOS_EMBEDDER_URL', 'must hold no credentials: use CUSTOS_EMBEDDER_KEY')
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
  // Anything else cannot stand in a header.
  if (/^[!-~]{1,4096}$/.test(given)) return given
  throw wrong('CUSTOS_EMBEDDER_KEY', 'must be printable characters without spaces')
}

function onnxEmbedder(env: Environment): OnnxEmbedderConfig | null {
  const [model, tokenizer] = [env.CUSTOS_ONNX_MODEL, env.CUSTOS_ONNX_TOKENIZER]
  if (model === undefined && tokenizer === undefined) return null
  const missing: SettingName = model === undefined ? 'CUSTOS_ONNX_MODEL' : 'CUSTOS_ONNX_TOKENIZER'
  if (model === undefined || tokenizer === undefined)
    throw wrong(missing, 'must be given: a model and its tokenizer go together')
  return { model: resolve(model), tokenizer: resolve(tokenizer) }
}

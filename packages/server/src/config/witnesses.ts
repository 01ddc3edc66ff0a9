// Settings of checkpoints: the witnesses that get each one and how many of them have to cosign it
// (CUSTOS_WITNESSES), and the authority that timestamps it (CUSTOS_TIMESTAMP_URL).

import type { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseWitnessKey } from '@custos/proof'
import type { TimestampAuthority, WitnessPolicy } from '../platform/kernel/kernel.ts'
import { readCertificates } from '../platform/timestamps/timestamp-token.ts'
import { type Environment, wrong } from './env.ts'

const WITNESSES_MAX = 16

const refuse = (rule: string) => wrong('CUSTOS_WITNESSES', rule)

/** Returns null if the setting is absent. Throws ConfigError for an unusable file. */
export function witnessPolicy(env: Environment): WitnessPolicy | null {
  const path = env.CUSTOS_WITNESSES
  if (path === undefined) return null
  const file = members(readJson(path), ['required', 'witnesses'], 'the file')
  const { required, witnesses: listed } = file
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > WITNESSES_MAX)
    throw refuse(`must have a list "witnesses" of 1 to ${WITNESSES_MAX}`)
  const witnesses = listed.map(parseWitness)
  if (new Set(witnesses.map(({ key }) => key)).size < witnesses.length)
    throw refuse('must have each key once')
  const count = witnesses.length
  if (typeof required !== 'number' || !Number.isInteger(required))
    throw refuse('must say in "required" how many witnesses have to cosign, a whole number')
  if (required < 1 || required > count)
    throw refuse(`must have a "required" from 1 to ${count}, the number of its witnesses`)
  return { required, witnesses }
}

function readJson(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw refuse('must name a file that can be read')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw refuse('must be a file with JSON')
  }
}

function parseWitness(given: unknown, index: number): WitnessPolicy['witnesses'][number] {
  const where = `witness ${index + 1}`
  const { key, url } = members(given, ['key', 'url'], where)
  if (typeof key !== 'string' || !isWitnessKey(key))
    throw refuse(`must have a vkey of signature type 4 as the key of ${where}`)
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  const plain = parsed?.href === `${parsed?.origin}${parsed?.pathname}`
  if (!parsed || !plain || !['http:', 'https:'].includes(parsed.protocol))
    throw refuse(`must have an http or https URL without credentials or query for ${where}`)
  return { key, url: parsed.href.replace(/\/+$/, '') }
}

function isWitnessKey(text: string): boolean {
  try {
    parseWitnessKey(text)
    return true
  } catch {
    return false
  }
}

function members(
  given: unknown,
  names: readonly string[],
  where: string,
): Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw refuse(`must have an object for ${where}`)
  const other = Object.keys(given).find((name) => !names.includes(name))
  if (other !== undefined)
    throw refuse(`has an unknown member in ${where}: use ${names.join(', ')}`)
  return { ...given }
}

/**
 * Returns null if neither setting is present. Certificates alone allow checks of stored timestamps.
 * Throws ConfigError for unusable settings.
 */
export function timestampAuthority(env: Environment): TimestampAuthority | null {
  const { CUSTOS_TIMESTAMP_URL: given, CUSTOS_TIMESTAMP_CERTIFICATES: path } = env
  if (given === undefined) {
    return path === undefined ? null : { url: null, certificates: certificates(path) }
  }
  const url = URL.parse(given)
  const plain =
    url?.href === `${url?.origin}${url?.pathname}${url?.search}` && /^https?:$/.test(url.protocol)
  if (!url || !plain)
    throw wrong('CUSTOS_TIMESTAMP_URL', 'must be an http or https URL without credentials')
  if (path === undefined)
    throw wrong('CUSTOS_TIMESTAMP_CERTIFICATES', 'is required with CUSTOS_TIMESTAMP_URL')
  return { url: url.href, certificates: certificates(path) }
}

function certificates(path: string): readonly X509Certificate[] {
  const refuse = (rule: string) => wrong('CUSTOS_TIMESTAMP_CERTIFICATES', rule)
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch {
    throw refuse('must name a file that can be read')
  }
  const read = readCertificates(pem)
  if (read.length === 0) throw refuse('must be a PEM file with certificates')
  return read
}

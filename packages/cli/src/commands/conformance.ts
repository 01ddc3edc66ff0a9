// custos conformance: runs the conformance suite against a server and signs the result.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import {
  type CapabilityResult,
  ConformanceError,
  type ConformanceResult,
  runConformance,
} from '@custos/conformance'
import {
  CONFORMANCE_KIND,
  CONFORMANCE_PURPOSE,
  type JsonObject,
  signedBytes,
  toHex,
  verifyConformanceResult,
} from '@custos/proof'
import {
  CONFORMANCE_SETTINGS,
  OperatorError,
  type OwnSigner,
  openOwnSigner,
  readConformanceEnvironment,
  settingsHelp,
} from '@custos/server'
import { baseUrl, CLIENT_HELP, CLIENT_OPTIONS } from '../client-calls.ts'
import {
  type Command,
  CommandError,
  readArguments,
  requirePositionals,
  UsageError,
} from '../command.ts'
import { formatTable, startProgress } from '../output.ts'

const OPTIONS = {
  ...CLIENT_OPTIONS,
  key: { type: 'string' },
  'other-key': { type: 'string' },
  seed: { type: 'string' },
  budget: { type: 'string' },
  'signing-key': { type: 'string' },
  out: { type: 'string', short: 'o' },
  json: { type: 'boolean' },
} as const

export const conformance: Command = {
  usage: '[--url URL] [--key KEY] [--signing-key FILE] [-o FILE] [options]',
  help: `Tests every capability that a running server declares, over its public interface, with
workloads generated from a seed. Uses its own stores, named conformance-…, and removes them at the
end. It starts no service: run it next to one.

  --key KEY           credential, instead of CUSTOS_API_KEY: other users of the machine can see it
  --seed N            seed of the workloads (default: 1)
  --budget N          token budget of each retrieval (default: 512)
  --signing-key FILE  Ed25519 key in PEM that signs the result; created with mode 0600 if the file
                      is missing. Without this option a temporary key signs
  -o, --out FILE      write the signed result to FILE; custos verify checks it
  --json              print the signed result instead of the table
${CLIENT_HELP}
${settingsHelp(CONFORMANCE_SETTINGS)}

Exit status 0: every tested capability passes. 1: one fails. 2: the suite could not run.`,
  run: runConformanceCommand,
}

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values']

async function runConformanceCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  requirePositionals(positionals)
  try {
    return await testServer(values)
  } catch (error) {
    if (!(error instanceof Error) || !isExpected(error)) throw error
    console.error(`custos conformance: ${error.message}`)
    if (error instanceof ConformanceError) warnOfLeftovers(error.leftovers)
    return 2
  }
}

// Status 1 means that the server failed a test, so a suite that cannot run is status 2.
const isExpected = (error: Error): boolean =>
  [ConformanceError, OperatorError, CommandError].some((kind) => error instanceof kind) ||
  ('code' in error && 'syscall' in error)

async function testServer(values: Values): Promise<number> {
  const env = readConformanceEnvironment()
  const target = {
    url: baseUrl(values.url ?? env.CUSTOS_URL ?? 'http://127.0.0.1:8420'),
    api_key: values.key ?? env.CUSTOS_API_KEY,
    other_api_key: values['other-key'] ?? env.CUSTOS_OTHER_API_KEY,
    seed: parseWholeNumber('seed', values.seed, 0),
    budget: parseWholeNumber('budget', values.budget, 1),
  }
  // Opened before the run, so that an unusable key is reported immediately.
  const signer = openOwnSigner(values['signing-key'])
  const result = await runWithProgress(target)
  const signed = await signResult(result, signer)
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(signed, null, 2)}\n`)
  if (values.json) console.log(JSON.stringify(signed))
  else for (const line of resultLines(result)) console.log(line)
  for (const line of signerLines(values, signer)) console.error(line)
  warnOfLeftovers(result.leftovers)
  if (result.tested === 0) throw new CommandError('nothing could be tested')
  return result.passed === result.tested ? 0 : 1
}

function parseWholeNumber(
  name: string,
  text: string | undefined,
  least: number,
): number | undefined {
  if (text === undefined) return undefined
  const count = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(count) && count >= least) return count
  throw new UsageError(`--${name} takes a whole number of at least ${least}`)
}

async function runWithProgress(
  target: Parameters<typeof runConformance>[0],
): Promise<ConformanceResult> {
  const progress = startProgress('conformance')
  const ending = new AbortController()
  const interrupt = () => ending.abort(new ConformanceError('interrupted'))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  try {
    return await runConformance({
      ...target,
      signal: ending.signal,
      on_progress: (done, total, part) => progress.show(`${part}, ${done} of ${total}`),
    })
  } finally {
    process.removeListener('SIGINT', interrupt).removeListener('SIGTERM', interrupt)
    progress.end()
  }
}

function signerLines(values: Values, signer: OwnSigner): string[] {
  const by = `signed by ${signer.key_id}, public key ${signer.public_key.toString('hex')}`
  const file = values['signing-key']
  if (file !== undefined) return signer.created ? [`created a signing key: ${file}`, by] : [by]
  return [
    by,
    'the key was created for this run and is gone now: the signature shows that the result was ' +
      'not changed, but not who signed it; --signing-key FILE signs with your own key',
  ]
}

function warnOfLeftovers(leftovers: ConformanceResult['leftovers']): void {
  for (const { store_id, reason } of leftovers)
    console.error(`custos conformance: the store ${store_id} could not be removed: ${reason}`)
}

function resultLines(result: ConformanceResult): string[] {
  const { url_origin, server, seed, suite_version, passed, tested } = result
  const version = server.version === undefined ? '' : `, version ${server.version}`
  const rows = result.capabilities.map((found) => [
    found.capability,
    found.verdict,
    checksCell(found),
    found.reason ?? '',
  ])
  const measured = result.measurements.map(({ workload, metrics }) => {
    const { queries = 0, recall = 0 } = metrics
    return `${workload} recall ${recall} in ${queries}`
  })
  return [
    `${url_origin}${version}: ${suite_version}, seed ${seed}`,
    '',
    formatTable([['capability', 'verdict', 'checks', 'reason'], ...rows]),
    '',
    `${passed} of ${tested} tested capabilities pass: ${result.conformance_rate}`,
    `measured without a verdict: ${measured.join(', ')}`,
    `workloads ${result.workload_digest}`,
  ]
}

function checksCell({ checks }: CapabilityResult): string {
  if (checks.length === 0) return '-'
  return `${checks.filter(({ passed }) => passed).length}/${checks.length}`
}

/** The result as a signed record; `signature` and `public_key` are base64. */
async function signResult(result: ConformanceResult, signer: OwnSigner): Promise<JsonObject> {
  const body: JsonObject = { record_kind: CONFORMANCE_KIND, ...result }
  const record: JsonObject = {
    ...body,
    signature: signer.sign(signedBytes(CONFORMANCE_KIND, body)).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const key = {
    key_id: signer.key_id,
    purpose: CONFORMANCE_PURPOSE,
    public_key: toHex(signer.public_key),
    valid_from: '1970-01-01T00:00:00Z',
    retired_at: null,
  }
  const verdict = await verifyConformanceResult(record, [key])
  assert(verdict.valid, `the signed result does not verify: ${verdict.reason}`)
  return record
}

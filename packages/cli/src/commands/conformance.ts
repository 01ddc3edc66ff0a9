// custos conformance: runs the suite against a server and signs what it found.

import { writeFileSync } from 'node:fs'
import { ConformanceError, type ConformanceResult, runConformance } from '@custos/conformance'
import {
  CONFORMANCE_SETTINGS,
  OperatorError,
  type OwnSigner,
  openOwnSigner,
  readConformanceEnvironment,
  settingsHelp,
} from '@custos/server'
import { readArguments, requirePositionals } from '../arguments.ts'
import { type Command, CommandError, UsageError } from '../command.ts'
import { resultLines } from '../conformance/result-lines.ts'
import { signResult } from '../conformance/sign-result.ts'
import { startProgress } from '../progress.ts'
import { baseUrl, CLIENT_HELP, CLIENT_OPTIONS } from '../service-client.ts'

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
  usage: '[--url URL] [--key KEY] [--other-key KEY] [--seed N] [--signing-key FILE] [-o FILE]',
  help: `Puts every capability that a running server declares to the test, over its public
interface, with workloads made from a seed. Works in stores of its own, named conformance-…,
and removes them at the end. Nothing is started: run it beside a service.

  --key KEY           credential, instead of CUSTOS_API_KEY: other users of the machine can see it
  --seed N            another seed makes other workloads (default: 1)
  --budget N          tokens of each retrieval (default: 512)
  --signing-key FILE  Ed25519 key in PEM that signs the result; made, with mode 0600, when it is
                      not there. Without it the key is one of the moment
  -o, --out FILE      writes the signed result there; custos verify checks it
  --json              the signed result on stdout instead of the table
${CLIENT_HELP}
${settingsHelp(CONFORMANCE_SETTINGS)}

Exit status 0: everything that could be tested passes. 1: something fails. 2: could not run.`,
  run: runCommand,
}

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values']

async function runCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  requirePositionals(positionals)
  try {
    return await testServer(values)
  } catch (error) {
    if (!(error instanceof Error) || !isExpected(error)) throw error
    console.error(`custos conformance: ${error.message}`)
    if (error instanceof ConformanceError) warnOf(error.leftovers)
    return 2
  }
}

// Not being able to run is 2 here: 1 says that a server fails.
const isExpected = (error: Error): boolean =>
  [ConformanceError, OperatorError, CommandError].some((kind) => error instanceof kind) ||
  ('code' in error && 'syscall' in error)

async function testServer(values: Values): Promise<number> {
  const env = readConformanceEnvironment()
  const target = {
    url: baseUrl(values.url ?? env.CUSTOS_URL ?? 'http://127.0.0.1:8420'),
    api_key: values.key ?? env.CUSTOS_API_KEY,
    other_api_key: values['other-key'] ?? env.CUSTOS_OTHER_API_KEY,
    seed: countOf('seed', values.seed, 0),
    budget: countOf('budget', values.budget, 1),
  }
  // Before the run: a key that cannot be used is known at once.
  const signer = openOwnSigner(values['signing-key'])
  const result = await runWithProgress(target)
  const signed = await signResult(result, signer)
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(signed, null, 2)}\n`)
  if (values.json) console.log(JSON.stringify(signed))
  else for (const line of resultLines(result)) console.log(line)
  for (const line of signerLines(values, signer)) console.error(line)
  warnOf(result.leftovers)
  if (result.tested === 0) throw new CommandError('nothing could be tested')
  return result.passed === result.tested ? 0 : 1
}

function countOf(name: string, text: string | undefined, least: number): number | undefined {
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
  if (file !== undefined) return signer.made ? [`made a signing key: ${file}`, by] : [by]
  return [
    by,
    'the key was made for this run and is gone now: the signature shows that the result was not ' +
      'changed since, and not who made it; --signing-key FILE signs with a key of yours',
  ]
}

function warnOf(leftovers: ConformanceResult['leftovers']): void {
  for (const { store_id, reason } of leftovers)
    console.error(`custos conformance: the store ${store_id} is left over: ${reason}`)
}

// custos verify: checks documents of a service offline, without trusting the service.

import { readFile, stat } from 'node:fs/promises'
import { text as readStream } from 'node:stream/consumers'
import { getSystemErrorMessage } from 'node:util'
import {
  hasDuplicateKey,
  type PublishedKey,
  parseWitnessKey,
  readKeyList,
  readSavedDocuments,
  type TrustedInputs,
  trustedKeys,
  type Verdict,
  verifySavedDocument,
} from '@custos/proof'
import { type Command, CommandError, readArguments, UsageError } from '../command.ts'
import { startProgress } from '../output.ts'

// A longer file does not fit into one JavaScript string.
const FILE_BYTES_MAX = 400 * 1024 * 1024

export const verify: Command = {
  usage: 'FILE… [--keys FILE | --key HEX…] [--entry FILE] [--witness-key VKEY…] [--json]',
  help: `Checks certificates, manifests with their certificates, decisions, receipts, memories,
signed records, log entries, checkpoints, inclusion and consistency proofs, bundles of runs. FILE is
JSON as the API answers it, one document per line (NDJSON), or the text of a checkpoint or
tlog-proof. FILE - reads standard input. Nothing is sent anywhere.

  --keys FILE   the signing keys to trust: the answer of GET /v1/gcrumbs/public_key, obtained
                from the operator in a way you trust, not from the sender of FILE
  --key HEX     one public key to trust, for every purpose and time; may be repeated
  --entry FILE  the log entry that a tlog-proof proves
  --witness-key VKEY  key of a witness (name+id+base64) that must have cosigned each checkpoint,
                of a consistency proof the later one; may be repeated
  --witnesses N how many of these witnesses are enough; default: all
  --timestamp-certificate FILE  certificates (PEM) of an authority that must have dated each epoch
                and proof by RFC 3161: its own, or one above it
  --json        print the verdicts as JSON, one per line

Exit status 0: everything is valid. 1: something is invalid or signed by an unknown key.`,
  run: runVerify,
}

async function runVerify(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    keys: { type: 'string' },
    key: { type: 'string', multiple: true },
    entry: { type: 'string' },
    'witness-key': { type: 'string', multiple: true },
    witnesses: { type: 'string' },
    'timestamp-certificate': { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length === 0) throw new UsageError('name a file to verify, or - for stdin')
  const keys = await readTrusted(values.keys, values.key ?? [])
  const entry = values.entry === undefined ? undefined : await readEntry(values.entry)
  const witnesses = readWitnesses([...new Set(values['witness-key'])], values.witnesses)
  const timestamp = await readAuthority(values['timestamp-certificate'])
  const trust = { keys, entry, ...(witnesses && { witnesses }), ...(timestamp && { timestamp }) }
  const found: DocumentVerdict[][] = []
  for (const file of positionals) found.push(await verifyFile(file, trust))
  // Not a spread: a file may have more documents than an argument list may be long.
  const verdicts = found.flat()
  if (values.json)
    for (const { file, where, verdict } of verdicts)
      console.log(JSON.stringify({ file, where, ...verdict }))
  else console.log(reportLines(verdicts).join('\n'))
  if (keys.length === 0 && isMissingKeys(verdicts))
    console.error(
      'custos verify: no keys were given, so no signer is known: save the answer of ' +
        'GET /v1/gcrumbs/public_key and pass it with --keys FILE',
    )
  return verdicts.every(({ verdict }) => verdict.valid) ? 0 : 1
}

async function readTrusted(list: string | undefined, bare: readonly string[]) {
  const keys: PublishedKey[] = bare.flatMap(keysOfHex)
  if (list !== undefined) keys.push(...keysOfFile(await readText(list), list))
  return keys
}

function keysOfFile(text: string, path: string): readonly PublishedKey[] {
  const keys = readKeyList(text)
  if (keys.length === 0) throw new CommandError(`${path} lists no keys`)
  return keys
}

function keysOfHex(hex: string): readonly PublishedKey[] {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new UsageError('--key takes 64 hex digits')
  return trustedKeys(hex)
}

/** Parses the witness options; undefined if no witness is required. */
function readWitnesses(keys: readonly string[], count: string | undefined) {
  for (const key of keys) {
    try {
      parseWitnessKey(key)
    } catch {
      throw new UsageError(`--witness-key takes a vkey of signature type 4, not ${key}`)
    }
  }
  const required = count === undefined ? keys.length : Number(count)
  const possible = /^[0-9]{1,3}$/.test(count ?? '1') && required >= 1 && required <= keys.length
  if (keys.length === 0 && count === undefined) return undefined
  if (!possible) throw new UsageError('--witnesses takes a number from 1 to that of --witness-key')
  return { keys, required }
}

/** Reads the certificate of a timestamp authority; undefined if no timestamp is required. */
async function readAuthority(file: string | undefined): Promise<TrustedInputs['timestamp']> {
  if (file === undefined) return undefined
  const { readCertificates, verifyTimestampToken } = await import('@custos/server/timestamp-token')
  const { formatTime } = await import('@custos/server/clock')
  const trusted = readCertificates(await readText(file))
  if (trusted.length === 0) throw new CommandError(`${file} has no certificate in PEM`)
  return (text, token) => {
    const verdict = verifyTimestampToken(token, { message: Buffer.from(text), trusted })
    return verdict.ok ? { ok: true, at: formatTime(verdict.stamped_us) } : verdict
  }
}

async function readEntry(file: string): Promise<unknown> {
  const text = await readText(file)
  try {
    const entry: unknown = JSON.parse(text)
    if (!hasDuplicateKey(text, entry)) return entry
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${file} is not JSON`)
    throw error
  }
  throw new CommandError(`${file} has a key that occurs twice in an object`)
}

async function readText(file: string): Promise<string> {
  if (file === '-') return readStream(process.stdin)
  try {
    const { size } = await stat(file)
    if (size <= FILE_BYTES_MAX) return await readFile(file, 'utf8')
  } catch (error) {
    // The error for a directory does not contain its path.
    if (!(error instanceof Error && 'errno' in error)) throw error
    const why = getSystemErrorMessage(Number(error.errno))
    throw new CommandError(`${file} cannot be read: ${why}`)
  }
  throw new CommandError(`${file} has more than 400 MB: split it by lines and verify the parts`)
}

/** Number of documents that are verified concurrently. */
const AT_ONCE = 32

async function verifyFile(file: string, trust: TrustedInputs): Promise<DocumentVerdict[]> {
  const documents = readSavedDocuments(await readText(file))
  const progress = startProgress('verify')
  const verdicts: DocumentVerdict[] = []
  try {
    for (let first = 0; first < documents.length; first += AT_ONCE) {
      // Signatures are verified in the runtime's threads.
      const some = documents.slice(first, first + AT_ONCE).map(async (document) => ({
        file,
        where: document.where,
        verdict: await verifySavedDocument(document, trust),
      }))
      verdicts.push(...(await Promise.all(some)))
      progress.show(`${file}: ${verdicts.length} of ${documents.length}`)
    }
  } finally {
    progress.end()
  }
  return verdicts
}

interface DocumentVerdict {
  readonly file: string
  readonly where: string
  readonly verdict: Verdict
}

/** With more documents than this, only those that fail are shown in full. */
const SHOWN_MAX = 20

function reportLines(verdicts: readonly DocumentVerdict[]): string[] {
  const brief = verdicts.length > SHOWN_MAX
  const shown = verdicts.filter(({ verdict }) => !brief || !verdict.valid).slice(0, 10 * SHOWN_MAX)
  const lines = shown.flatMap(documentLines)
  const valid = verdicts.filter(({ verdict }) => verdict.valid).length
  if (brief) for (const line of sharedLines(verdicts)) lines.push(line)
  if (verdicts.length > 1) lines.push(`${valid} of ${verdicts.length} valid`)
  return lines
}

function documentLines({ file, where, verdict }: DocumentVerdict): string[] {
  const name = where === '' ? file : `${file}, ${where}`
  const verb = verdict.valid ? 'valid' : 'INVALID'
  return [
    `${name}: ${verdict.type}`,
    ...verdict.checks.map(({ name, ok, detail }) =>
      ok ? `  ok    ${name}` : `  FAIL  ${name}${detail ? `: ${detail}` : ''}`,
    ),
    ...verdict.not_checked.map((text) => `  not checked: ${text}`),
    ...(verdict.valid_with.length > 0 ? [`  signed by ${verdict.valid_with.join(', ')}`] : []),
    `  ${verb}${verdict.reason ? `: ${verdict.reason}` : ''}`,
  ]
}

// Lines that all records share are printed once.
function sharedLines(verdicts: readonly DocumentVerdict[]): string[] {
  const unchecked = new Set(verdicts.flatMap(({ verdict }) => verdict.not_checked))
  const signers = new Set(verdicts.flatMap(({ verdict }) => verdict.valid_with))
  return [
    ...[...unchecked].map((text) => `not checked: ${text}`),
    ...(signers.size > 0 ? [`signed by ${[...signers].join(', ')}`] : []),
  ]
}

/** Whether a signature was made by a key that no given list contains. */
function isMissingKeys(verdicts: readonly DocumentVerdict[]): boolean {
  return verdicts.some(({ verdict }) =>
    verdict.checks.some(({ name, detail }) => name === 'key_known' || detail === 'unknown_key'),
  )
}

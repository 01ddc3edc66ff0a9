// custos subject: finds, erases or exports everything about a person, on a running service.

import type { Custos, FileReply, Lines, Pending } from '@custos/client'
import type { SubjectsAccessQuery, SubjectsManifestQuery } from '@custos/client/types'
import type { FindGroup, SubjectPreview } from '@custos/contract'
import { CLIENT_HELP, setMembers, unchecked } from '../../client-calls.ts'
import { type Command, CommandError, type readArguments, UsageError } from '../../command.ts'
import { saveDownload } from '../../download.ts'
import { formatBytes, formatTable } from '../../output.ts'
import { CONFIRM_OPTIONS, confirm, defineVerb, runVerb, waitForJob } from '../../verbs.ts'

export const subject: Command = {
  usage: 'preview | erase | access | manifest REQUEST_ID [options]',
  help: `  preview   count what is held about the person; changes nothing
  erase     show the preview, ask on a terminal, then erase it all with certificates. Shows the
            progress; Ctrl-C ends the display, not the erasure
  access    write everything held about the person
  manifest  write the signed manifest of an erasure

Whom to search for. Each of these is an alternative, of which one must match; repeat them:

  --text TEXT           text in contents, metadata, decisions and records
  --metadata KEY=VALUE  entry of the metadata; VALUE is a text
  --session ID          session of memories and decisions
  --find JSON           "find" as the API takes it, for conditions that must all match
  --namespace NAME      only this namespace; without any of the above, all of it
  --store ID            only this store; repeat it for several

  --yes                 do not ask (erase): erases what a preview finds now
  --expect-digest HEX   digest of an earlier preview: erase exactly that, or nothing
  --legal-basis TEXT    part of every certificate (erase)
  --requested-by TEXT   part of every certificate (erase); do not name a person
  --received-at TIME    when the person asked (default: now); decides the due date
  --format FORMAT       access: ndjson (default), json, html or pdf, with a cover letter
                        manifest: bundle (default, with its certificates), json or pdf
  -o, --output FILE     where to write (default: standard output; erase: nowhere)
${CLIENT_HELP}`,
  run: (args) => runVerb(args, { preview, erase, access, manifest }),
}

const SEARCH_OPTIONS = {
  text: { type: 'string', multiple: true },
  metadata: { type: 'string', multiple: true },
  session: { type: 'string', multiple: true },
  find: { type: 'string', multiple: true },
  store: { type: 'string', multiple: true },
  namespace: { type: 'string' },
  'received-at': { type: 'string' },
} as const

/** The members of a request that state whom to search for, and where. */
function parseSearch(values: ReturnType<typeof readArguments<typeof SEARCH_OPTIONS>>['values']) {
  const find: FindGroup[] = [
    ...(values.text ?? []).map((text) => ({ text })),
    ...(values.metadata ?? []).map((entry) => ({ metadata: parseEntry(entry) })),
    ...(values.session ?? []).map((session_id) => ({ session_id })),
    ...(values.find ?? []).flatMap(parseFind),
  ]
  const { namespace, store: store_ids, 'received-at': received_at } = values
  if (find.length === 0 && namespace === undefined)
    throw new UsageError(
      'say whom to search for: --text, --metadata, --session, --find or --namespace',
    )
  return {
    ...(find.length === 0 ? {} : { find }),
    ...setMembers({ namespace, store_ids, received_at }),
  }
}

function parseEntry(entry: string): Record<string, string> {
  const at = entry.indexOf('=')
  if (at < 1) throw new UsageError('--metadata takes KEY=VALUE')
  return { [entry.slice(0, at)]: entry.slice(at + 1) }
}

/** Parses the JSON of a search. The service checks its contents. */
function parseFind(text: string): FindGroup[] {
  try {
    return [JSON.parse(text)].flat()
  } catch {
    throw new UsageError('--find takes JSON')
  }
}

const preview = defineVerb(SEARCH_OPTIONS, [], async (custos, { values }) =>
  print(await loadPreview(custos, values)),
)

async function loadPreview(
  custos: Custos,
  values: Parameters<typeof parseSearch>[0],
): Promise<SubjectPreview> {
  const found = await custos.subjects.erase({ ...parseSearch(values), preview: true })
  if (!('preview' in found)) throw new CommandError('the service answered with no preview')
  return found
}

function print({ found, session_ids, digest, not_searched }: SubjectPreview): void {
  const { stores, kinds, decisions_naming, decisions_using, held } = found
  const counts: (string | number)[][] = [
    ...stores.map((store) => [`memories in ${store.store_id}`, store.facts, store.held]),
    ['decisions that match', decisions_naming, ''],
    ['decisions that used one of the memories', decisions_using, ''],
    ...kinds.map(({ kind, texts, held: kept }) => [kind, texts, kept]),
    ['kept by a legal hold, of all of them', held, ''],
  ]
  console.log(formatTable([['found', 'count', 'held'], ...counts]))
  if (session_ids.length > 0) console.log(`sessions to search as well: ${session_ids.join(', ')}`)
  if (not_searched.length > 0) console.log(`not searched: ${not_searched.join('; ')}`)
  console.log(`digest ${digest}`)
}

const ERASE_OPTIONS = {
  ...SEARCH_OPTIONS,
  ...CONFIRM_OPTIONS,
  'expect-digest': { type: 'string' },
  'legal-basis': { type: 'string' },
  'requested-by': { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const

const erase = defineVerb(ERASE_OPTIONS, [], async (custos, { values }) => {
  const shown = await loadPreview(custos, values)
  print(shown)
  const { facts, decisions_naming, texts } = shown.found
  const items = facts + decisions_naming + texts
  await confirm(`Erase these ${items} items? It cannot be undone`, values.yes)
  const accepted = await custos.subjects.erase({
    ...parseSearch(values),
    expect_digest: values['expect-digest'] ?? shown.digest,
    ...setMembers({ legal_basis: values['legal-basis'], requested_by: values['requested-by'] }),
  })
  if (!('request_id' in accepted)) throw new CommandError('the service accepted no request')
  const { request_id, job_id } = accepted
  console.log(`request ${request_id} accepted`)
  if (job_id !== null) await waitForJob(custos, 'erasure', job_id)
  const done = await custos.subjects.get(request_id)
  console.log(`${done.status}: ${done.progress.done} of ${done.progress.total} items`)
  if (values.output !== undefined) await saveManifest(custos, { request_id, output: values.output })
  else console.log(`custos subject manifest ${request_id} -o FILE saves what proves it`)
})

const FILE_OPTIONS = {
  format: { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const

const access = defineVerb(
  { ...SEARCH_OPTIONS, ...FILE_OPTIONS },
  [],
  async (custos, { values }) => {
    const { format = 'ndjson', output } = values
    const query: SubjectsAccessQuery = unchecked({ format })
    await save(await bodyOf(custos.subjects.access(parseSearch(values), query)), 'access', output)
  },
)

const manifest = defineVerb(FILE_OPTIONS, ['REQUEST_ID'], (custos, { values, positionals }) =>
  saveManifest(custos, { ...values, request_id: positionals[0] ?? '' }),
)

async function saveManifest(
  custos: Custos,
  request: { request_id: string; format?: string | undefined; output?: string | undefined },
): Promise<void> {
  const { request_id, format = 'bundle', output } = request
  const query: SubjectsManifestQuery = unchecked({ format })
  await save(await bodyOf(custos.subjects.manifest(request_id, query)), 'manifest', output)
}

/** The body to save. Lines are streamed as they arrive; a file or a record is already complete. */
async function bodyOf(reply: Lines<unknown> | Pending<unknown>): Promise<Response> {
  if (Symbol.asyncIterator in reply) return (await reply.withResponse()).response
  const whole = await reply
  return new Response(isFile(whole) ? whole.bytes() : JSON.stringify(whole))
}

const isFile = (reply: unknown): reply is FileReply =>
  typeof reply === 'object' && reply !== null && 'bytes' in reply

async function save(response: Response, title: string, output: string | undefined): Promise<void> {
  const { bytes, file } = await saveDownload(response, title, output)
  if (file !== null) console.log(`${file}: ${formatBytes(bytes)}`)
}

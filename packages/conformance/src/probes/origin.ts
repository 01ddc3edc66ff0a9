// Probes of provenance: that the source of memories is named and its signature valid.

import { factId, isObject, isText, readBase64, toHex, verifyEd25519 } from '@custos/proof'
import { refKey, type Store, type WireMemory } from '../client/store.ts'
import { countTurns, type Probe, type ProbeContext, replayIn } from './probe.ts'

type ShownMemory = { readonly where: 'audit' | 'retrieve'; readonly memory: WireMemory }

/** Every memory that the store shows, in answers and in its audit if it has one. */
async function readShown(context: ProbeContext): Promise<{ store: Store; shown: ShownMemory[] }> {
  const { workloads, declared, budget } = context
  const { store } = await replayIn(context, workloads.signed)
  const shown: ShownMemory[] = []
  if (declared.has('audit'))
    for (const memory of await store.audit()) shown.push({ where: 'audit', memory })
  for (const turn of workloads.signed.sessions.flatMap(({ turns }) => turns)) {
    if (turn.role !== 'agent_query') continue
    const answer = await store.retrieve(turn.content, { budget_tokens: budget })
    for (const memory of answer) shown.push({ where: 'retrieve', memory })
  }
  context.tick()
  return { store, shown }
}

const steps: Probe['steps'] = ({ signed }) => countTurns(signed) + 1

/** Every returned memory names its write, and always the same one. */
export const provenanceProbe: Probe = {
  capability: 'provenance',
  steps,
  async run(context) {
    const { shown } = await readShown(context)
    const { checks } = context
    checks.add('memories are shown', shown.length > 0, 'in answers or in the audit')
    const nameless = shown.filter(({ memory }) => writeOf(memory) === null).map(named)
    checks.none('each names its write and when', nameless, 'source.write_id, source.written_at')
    const writes = Map.groupBy(shown, ({ memory }) => refKey(memory.ref))
    const moved = [...writes].filter(([, same]) => {
      return new Set(same.map(({ memory }) => writeOf(memory))).size > 1
    })
    const refs = moved.map(([ref]) => ref)
    checks.none('the same wherever it is shown', refs, 'one source for each ref')
    return { metrics: { shown: shown.length, memories: writes.size } }
  },
}

function writeOf({ source }: WireMemory): string | null {
  if (!isObject(source)) return null
  const { write_id, written_at } = source
  const named = isText(write_id) && write_id !== '' && isText(written_at)
  return named && !Number.isNaN(Date.parse(written_at)) ? `${write_id} ${written_at}` : null
}

const named = ({ where, memory }: ShownMemory): string => `${refKey(memory.ref)} in ${where}`

/**
 * Every signature that is shown is by the key beside it, over the fact's identity: BLAKE2b-128 of
 * content and tenant value as they are shown. The same signature must not fit another content.
 */
export const signatureProbe: Probe = {
  capability: 'cryptographic_provenance',
  steps,
  async run(context) {
    const { shown } = await readShown(context)
    const { checks } = context
    checks.add('memories are shown', shown.length > 0, 'in answers or in the audit')
    const judged = await Promise.all(shown.map(verifyShownMemory))
    const where = (wanted: (judged: SignatureVerdict) => boolean) =>
      shown.filter((_, i) => wanted(judged[i] ?? UNSIGNED)).map(named)
    const form = 'base64 of 64 and 32 bytes'
    checks.none(
      'each has a signature and a key',
      where((j) => !j.signed),
      form,
    )
    const over = 'Ed25519 over the 16-byte fact id of content and tenant_id as shown'
    checks.none(
      'each signature holds',
      where((j) => j.signed && !j.holds),
      over,
    )
    checks.none(
      'none holds for another content',
      where((j) => j.holdsForOther),
      'bound to it',
    )
    const key = 'source.written_by is the hex of source.public_key'
    checks.none(
      'the writer is the key',
      where((j) => j.signed && !j.byWriter),
      key,
    )
    const keys = new Set(judged.flatMap(({ key: signer }) => (signer === null ? [] : [signer])))
    return { metrics: { shown: shown.length, signing_keys: keys.size } }
  },
}

type SignatureVerdict = {
  readonly signed: boolean
  readonly holds: boolean
  readonly holdsForOther: boolean
  readonly byWriter: boolean
  readonly key: string | null
}

const UNSIGNED: SignatureVerdict = {
  signed: false,
  holds: false,
  holdsForOther: false,
  byWriter: false,
  key: null,
}

async function verifyShownMemory({ memory }: ShownMemory): Promise<SignatureVerdict> {
  const { source, content } = memory
  if (!isObject(source)) return UNSIGNED
  const [signature, key] = [readBase64(source['signature']), readBase64(source['public_key'])]
  if (signature?.length !== 64 || key?.length !== 32) return UNSIGNED
  const tenant = isText(memory.tenant_id) ? memory.tenant_id : null
  const verifies = (text: string) => verifyEd25519(key, factId(text, tenant), signature)
  // Servers may omit the writer, but must not name another one.
  const writer = source['written_by'] ?? null
  return {
    signed: true,
    holds: await verifies(content),
    holdsForOther: await verifies(`${content} `),
    byWriter: writer === null || writer === toHex(key),
    key: toHex(key),
  }
}

// POST and GET /v1/cgr/rotation(s): verifies that one key replaces another, and records the link.

import { CGR_ROTATIONS_PER_CHAIN_MAX, type Rotation, type reputation } from '@custos/contract'
import { canonicalize, type JsonObject, type RotationLink, readRotation } from '@custos/proof'
import { formatTime, parseTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { hasRecord } from './rows/agents.sql.ts'
import { contentLabel, hexOf, keyLabel, readKey, sameLabel } from './rows/labels.ts'
import {
  anchorOf,
  findLinks,
  insertRotation,
  type LinksOfKey,
  listRotations,
  type RotationRow,
} from './rows/rotations.sql.ts'
import { openPayload, sealPayload } from './rows/sealed-payload.ts'

/** A sealed link of a key rotation, with the labels of both keys. */
interface NewLink {
  readonly link: RotationLink
  readonly not_before_us: number | null
  readonly prev_key: Buffer
  readonly new_key: Buffer
  /** The label of the whole link. */
  readonly label: string
  readonly secret_no: number
  readonly sealed: Buffer
}

export const rotate: Handler<typeof reputation.rotate> = async (call, { body }) => {
  const given: JsonObject = {
    prev_key: readKey(body.prev_key, ['body', 'prev_key']),
    new_key: readKey(body.new_key, ['body', 'new_key']),
    seq: body.seq ?? 1,
    not_before: body.not_before ?? '',
    sig: body.sig.toLowerCase(),
    ...(body.new_sig ? { new_sig: body.new_sig.toLowerCase() } : {}),
  }
  const link = await readRotation(given)
  if (typeof link === 'string') return call.refuse('possession_unproven')
  const prepared = await prepare(call, link)
  const once: IdempotentUnit<Readonly<Record<string, unknown>>> = {
    async run(tx) {
      await recordLink(tx, prepared)
      meter(tx, call.operation.id, prepared.sealed.length)
      return { reply: {}, ids: {} }
    },
    replay: async () => ({}),
  }
  await call.once(once)
  const { prev_key, new_key, seq } = link
  const { not_before_us } = prepared
  const not_before = not_before_us === null ? null : formatTime(not_before_us)
  return { prev_key, new_key, seq, not_before, recorded: true }
}

async function prepare(
  { kernel, tenant_id }: Call<typeof reputation.rotate>,
  link: RotationLink,
): Promise<NewLink> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const new_key = keyLabel(keys, link.new_key)
  const place = { column: 'rotation', id: hexOf(new_key) } as const
  const { secret_no, sealed } = await sealPayload(kernel, tenant_id, [
    { place, content: { ...link } },
  ])
  return {
    link,
    not_before_us: link.not_before === '' ? null : parseTime(link.not_before),
    prev_key: keyLabel(keys, link.prev_key),
    new_key,
    label: hexOf(contentLabel(keys, [canonicalize({ ...link })])),
    secret_no,
    sealed: sealed[0] ?? Buffer.alloc(0),
  }
}

async function recordLink(tx: Tx, given: NewLink): Promise<void> {
  const { link, prev_key, new_key, not_before_us, secret_no, sealed } = given
  const before = await findLinks(tx, prev_key)
  if (before.out && sameLabel(before.out.new_key, new_key)) {
    if (before.out.position !== link.seq || before.out.not_before_us !== not_before_us)
      throw new Refusal('rotation_refused', 'the link is recorded with another number or date')
    return
  }
  const anchor = anchorOf(prev_key, before)
  await refuseMisfit(tx, given, before)
  const seq = await nextSeq(tx)
  const position = link.seq
  const row = { seq, anchor, position, prev_key, new_key, not_before_us, secret_no, sealed }
  if ((await insertRotation(tx, row)) === 'taken') throw new Refusal('rotation_refused')
  await appendCrumb(tx, {
    event_type: 'cgr.rotation_recorded',
    subject: hexOf(anchor),
    payload: { prev_key: hexOf(prev_key), new_key: hexOf(new_key), position, link: given.label },
  })
}

async function refuseMisfit(
  tx: Tx,
  { link, new_key, not_before_us }: NewLink,
  { into, out }: LinksOfKey,
): Promise<void> {
  if (out) throw new Refusal('rotation_refused', 'prev_key was followed by another key')
  const next = (into?.position ?? 0) + 1
  if (link.seq !== next) throw new Refusal('rotation_refused', `the next seq is ${next}`)
  if (link.seq > CGR_ROTATIONS_PER_CHAIN_MAX)
    throw new Refusal('rejected', `a chain has ${CGR_ROTATIONS_PER_CHAIN_MAX} links at most`)
  if (into && (not_before_us ?? tx.now()) < (into.not_before_us ?? 0))
    throw new Refusal('rotation_refused', 'not_before lies before that of the link in front')
  const after = await findLinks(tx, new_key)
  const known = after.into ?? after.out
  if (known || link.prev_key === link.new_key || (await hasRecord(tx, new_key)))
    throw new Refusal('rotation_refused', 'new_key has a record of its own')
}

/** Opens the links, in the order of `rows`. */
export async function openLinks(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly RotationRow[],
): Promise<(JsonObject & RotationLink)[]> {
  const sealed = rows.map(({ new_key, ...row }) => {
    const place = { column: 'rotation', id: hexOf(new_key) } as const
    return { place, secret_no: row.secret_no, sealed: row.sealed }
  })
  const opened = await openPayload<JsonObject & RotationLink>(kernel, tenant_id, sealed)
  return opened.map((link) => link ?? unreadable())
}

function unreadable(): never {
  throw new Refusal('unavailable')
}

export const rotations: Handler<typeof reputation.rotations> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, 100, call.operation.id)
  const keys = await kernel.keyring.tenant(tenant_id)
  const label = (key: string | undefined) => (key === undefined ? null : keyLabel(keys, key))
  const [first, member] = [label(query?.anchor), label(query?.current)]
  const rows = await call.read(async (db) => {
    const anchor = member && anchorOf(member, await findLinks(db, member))
    // The labels belong to different chains, and no link is in both.
    if (first && anchor && !sameLabel(first, anchor)) return []
    return listRotations(db, first ?? anchor, page)
  })
  const links = await openLinks(kernel, tenant_id, rows)
  return page.envelope('rotations', links.map(shown))
}

const shown = ({ prev_key, new_key, seq, not_before, sig }: RotationLink): Rotation => ({
  prev_key,
  new_key,
  seq,
  not_before: not_before === '' ? null : not_before,
  sig,
})

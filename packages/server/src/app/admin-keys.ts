// Changes to the signing keys, on the stopped service: the keyring first, then every tenant's log.

import type { PublishedKey } from '@custos/proof'
import { formatTime } from '../platform/clock.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { SIGNING_PURPOSES, type SigningPurpose } from '../platform/keys/keyring.ts'
import { appendCrumb, findHead } from '../slices/gcrumbs/index.ts'
import { listKeyEvents } from './key-events.sql.ts'

export { SIGNING_PURPOSES, type SigningPurpose }

export interface KeyChange {
  readonly purpose: SigningPurpose
  /** null: there is no current key now. */
  readonly key: PublishedKey | null
  readonly previous_key_id: string | null
}

/** A new key for each purpose; the old ones stay published. */
export async function rotateSigningKeys(
  kernel: Kernel,
  purposes: readonly SigningPurpose[],
): Promise<KeyChange[]> {
  const changes: KeyChange[] = []
  for (const purpose of purposes) {
    const previous_key_id = currentKeyId(kernel, purpose)
    const key = await kernel.keyring.rotateSigningKey(purpose, formatTime(kernel.clock.now()))
    changes.push({ purpose, key, previous_key_id })
  }
  await announceKeys(kernel)
  return changes
}

/** Leaves the purpose without a key: what needs one is refused until the next rotation. */
export async function retireSigningKey(
  kernel: Kernel,
  purpose: SigningPurpose,
): Promise<KeyChange> {
  const previous_key_id = currentKeyId(kernel, purpose)
  await kernel.keyring.retireSigningKey(purpose, formatTime(kernel.clock.now()))
  await announceKeys(kernel)
  return { purpose, key: null, previous_key_id }
}

const currentKeyId = (kernel: Kernel, purpose: SigningPurpose): string | null =>
  kernel.keyring.publishedKeys().find((key) => key.purpose === purpose && key.retired_at === null)
    ?.key_id ?? null

/**
 * Appends to every log the changes of the key list it does not mention yet. After a crash, or on
 * a restored log, the next change makes up for what is missing.
 */
async function announceKeys(kernel: Kernel): Promise<void> {
  for (const tenant_id of await kernel.keyring.listTenants())
    await announceTo(kernel, tenant_id, kernel.keyring.publishedKeys())
}

async function announceTo(
  kernel: Kernel,
  tenant_id: string,
  published: readonly PublishedKey[],
): Promise<void> {
  await kernel.db.transact(tenant_id, async (tx) => {
    // Without a log the tenant is not made yet: its first entry will name the keys of that time.
    if (!(await findHead(tx))) return
    const { named, retired } = namedKeys((await listKeyEvents(tx)).map(({ record }) => record))
    for (const [i, key] of published.entries()) {
      const { key_id, purpose } = key
      if (named.has(key_id)) continue
      const before = published.slice(0, i).findLast((known) => known.purpose === purpose)
      await appendCrumb(tx, {
        event_type: 'signing_key.rotated',
        subject: key_id,
        payload: { purpose, key_id, previous_key_id: before?.key_id ?? null },
      })
    }
    for (const { key_id, purpose } of withoutSuccessor(published))
      if (!retired.has(key_id))
        await appendCrumb(tx, {
          event_type: 'signing_key.retired',
          subject: key_id,
          payload: { purpose, key_id },
        })
  })
}

/** Keys whose purpose has no current key: the last of each. A rotation retires by naming. */
function withoutSuccessor(published: readonly PublishedKey[]): PublishedKey[] {
  const last = new Map(published.map((key) => [key.purpose, key]))
  return [...last.values()].filter(({ retired_at }) => retired_at !== null)
}

function namedKeys(records: readonly string[]) {
  const named = new Set<string>()
  const retired = new Set<string>()
  for (const record of records) {
    // Written by appendCrumb under a closed schema; verified with the log.
    const { event_type, subject, payload } = JSON.parse(record) as {
      event_type: string
      subject: string
      payload: { signing_keys?: { key_id: string }[] }
    }
    if (event_type === 'signing_key.rotated') named.add(subject)
    if (event_type === 'signing_key.retired') retired.add(subject)
    for (const { key_id } of payload.signing_keys ?? []) named.add(key_id)
  }
  return { named, retired }
}

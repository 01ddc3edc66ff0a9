// What is sealed of a report: its document and its title, under a record secret of its own.

import type { Kernel } from '../../platform/kernel.ts'
import { open, SealError, seal } from '../../platform/keys/seal.ts'
import { recordSecrets } from '../../platform/record-secrets.ts'
import { Refusal } from '../../platform/refusal.ts'

type Column = 'title' | 'document'

const associatedData = (tenant_id: string, column: Column, report_id: string): Buffer =>
  Buffer.from(JSON.stringify(['report', column, tenant_id, report_id]))

export interface SealedTitle {
  readonly secret_no: number
  readonly sealed_title: Uint8Array
}

/** Under a new secret, which is that of the whole report. */
export async function sealTitle(
  kernel: Kernel,
  tenant_id: string,
  { report_id, title }: { report_id: string; title: string },
): Promise<SealedTitle> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const { secret_no, secret } = await recordSecrets(kernel).take(tenant_id)
  const key = keys.factKey(secret)
  secret.fill(0)
  const sealed_title = seal(key, associatedData(tenant_id, 'title', report_id), Buffer.from(title))
  return { secret_no, sealed_title }
}

/** Under the secret that its title was sealed with. */
export async function sealDocument(
  kernel: Kernel,
  tenant_id: string,
  { report_id, secret_no, text }: { report_id: string; secret_no: number; text: string },
): Promise<Buffer> {
  const keys = await kernel.keyring.tenant(tenant_id)
  const secret = (await kernel.keyring.secrets(tenant_id, 'decision', [secret_no])).get(secret_no)
  if (!secret) throw new Refusal('unavailable')
  const key = keys.factKey(secret)
  return seal(key, associatedData(tenant_id, 'document', report_id), Buffer.from(text))
}

export interface Part {
  readonly column: Column
  readonly report_id: string
  readonly secret_no: number
  readonly sealed: Uint8Array | null
}

/** In the order of `parts`; null where there is nothing, or nothing that can be opened. */
export async function openReports(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  parts: readonly Part[],
): Promise<(string | null)[]> {
  const numbers = [...new Set(parts.map(({ secret_no }) => secret_no))]
  if (numbers.length === 0) return []
  const keys = await kernel.keyring.tenant(tenant_id)
  const secrets = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
  return parts.map(({ column, report_id, secret_no, sealed }) => {
    const secret = secrets.get(secret_no)
    if (!secret || sealed === null) return null
    try {
      const aad = associatedData(tenant_id, column, report_id)
      return open(keys.factKey(secret), aad, sealed).toString()
    } catch (error) {
      if (error instanceof SealError) return null
      throw error
    }
  })
}
